"""What benchmarks share: times by turns, peaks of memory, pictures of growth."""

import ctypes
import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch

from allmlp.common import paths
from allmlp.report import style

T = TypeVar("T")
Lines = Mapping[str, tuple[Sequence[float], Sequence[float]]]  # name -> x, y
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # <malloc.h>


def device() -> str:
    """cuda where there is a GPU, else cpu."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def milliseconds(run: Callable[[], object]) -> float:
    """One run: on a CPU this process's own time, on one core, to which other processes add little."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        return 1000 * (time.perf_counter() - start)
    start = time.process_time()
    run()
    return 1000 * (time.process_time() - start)


def medians(runs: Mapping[str, Callable[[], object]], seconds: float, least: int = 0) -> dict[str, float]:
    """Milliseconds of each run: medians of rounds in which they take turns, as many as `seconds` allow, at most 9.

    The first round warms up; where it alone takes longer than `seconds`, and `least` is 0, it counts.
    """
    rounds = [[milliseconds(run) for run in runs.values()]]
    wanted = max(least, min(9, int(1000 * seconds / sum(rounds[0]))))
    if wanted:
        rounds = [[milliseconds(run) for run in runs.values()] for _ in range(wanted)]
    return dict(zip(runs, map(statistics.median, zip(*rounds, strict=True)), strict=True))


def peak(make: Callable[[], Callable[[], object]]) -> float:
    """MB that one run of `make()` takes at its peak above what was there before: on a CPU in a process of its own.

    To be asked before anything else has run in this process: its freed memory would count as there before.
    """
    if torch.cuda.is_available():
        run = make()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    return apart(_peak_here, make)


def _peak_here(make: Callable[[], Callable[[], object]]) -> float:
    run, before = make(), _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    run()
    return _resident("VmHWM") - before


def _resident(field: str) -> float:
    """A line of this process's memory, in MB: VmRSS now, VmHWM at its peak."""
    return int(Path("/proc/self/status").read_text().split(f"{field}:")[1].split()[0]) / 1024


def apart(function: Callable[..., T], *arguments: object) -> T:
    """The function's value, from a copy of this process: to be asked before a backward pass has run here."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sending.send(function(*arguments)))
    process.start()
    sending.close()
    value = receiving.recv()
    process.join()
    return value


def keep_all_freed() -> None:
    """Tell glibc to keep freed memory of any size."""
    ctypes.CDLL(None).mallopt(M_MMAP_MAX, 0)
    ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def where() -> str:
    """What it runs on, for a figure's title."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "one CPU core"


def draw(name: str, title: str, xlabel: str, panels: Mapping[str, Lines], colours: Mapping[str, str]) -> None:
    """work/bench/<name>.svg and .png: a panel per y label, a line per name, both axes logarithmic."""
    path = paths.project() / "work" / "bench" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with style.matplotlib.rc_context(style.rc()):
        figure, axes = style.canvas(columns=len(panels), width=max(5.0, 3.9 * len(panels)), height=3.8)
        for axis, (label, lines) in zip(axes[0], panels.items(), strict=True):
            for line, (x, y) in lines.items():
                dashed = "--" if line.endswith("full pass") else "-"
                axis.plot(x, y, dashed, marker="o", markersize=3, color=colours[line], label=line)
            ticks = sorted({value for x, _ in lines.values() for value in x})
            axis.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=label)
            axis.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks], rotation=45)
            axis.minorticks_off()
        figure.suptitle(f"{title}, {where()}", fontsize=9)
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=1 + len(panels))
        for suffix in ("svg", "png"):
            figure.savefig(path.with_suffix(f".{suffix}"))
    print(f"drawn: {path.relative_to(paths.project())}.svg and .png", flush=True)
