"""Which CUDA devices this process may use, asked of the driver without starting CUDA here.

A process that has started CUDA cannot change its devices any more, so torch must not be the one to ask.
"""

import functools
import os
import re
import subprocess

FAKE = "ALLMLP_FAKE_DEVICES"  # =4: devices named 0 to 3 in place of the machine's own, for tests
Listing = list[tuple[str, str]]  # (number, name that CUDA takes) of each device


def candidates(listed: str | None) -> list[str]:
    """Names of the devices `listed` (as in CUDA_VISIBLE_DEVICES; None: all), as CUDA takes them.

    Numbers are nvidia-smi's, so that every process has the same name for a device. Stops, as CUDA does, at the
    first entry that names no device.
    """
    devices = machine()
    if listed is None:
        return list(dict.fromkeys(name for _, name in devices))
    found: list[str] = []
    for entry in (part.strip() for part in listed.split(",")):
        if entry.isdigit():
            names = [name for number, name in devices if number == entry]
        else:
            names = [name for _, name in devices if entry and name.startswith(entry)]
        if not names:
            break
        found.append(names[0])
    return list(dict.fromkeys(found))


def machine() -> Listing:
    """The devices of this machine; for tests without a GPU, ALLMLP_FAKE_DEVICES=n, named 0 to n-1."""
    fake = os.environ.get(FAKE)
    if fake is not None:
        return [(str(i), str(i)) for i in range(int(fake))]
    return parse_listing(_nvidia_smi())


@functools.cache
def _nvidia_smi() -> str:
    """The output of `nvidia-smi -L`; empty without that program or a driver."""
    try:
        answer = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout if answer.returncode == 0 else ""


def parse_listing(text: str) -> Listing:
    """(number, UUID) of each device that `nvidia-smi -L` lists; a GPU cut into MIG slices gives its slices."""
    devices: Listing = []
    cut: set[str] = set()
    number = ""
    for line in text.splitlines():
        name = re.search(r"\(UUID: ([^)\s]+)\)", line)
        gpu = re.match(r"GPU (\d+):", line)
        if gpu:
            number = gpu[1]
        elif name:
            cut.add(number)
        if name:
            devices.append((number, name[1]))
    return [(number, name) for number, name in devices if number not in cut or name.startswith("MIG-")]
