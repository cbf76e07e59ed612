"""`allmlp certify`: the certificate of a run of this project, or of any weights of the same architecture.

A file of your own is a safetensors file with these tensors, of any float type (p tokens, d features, h heads of k
features, m neurons; the network is that of `circuits`, attention 1/2 everywhere, no norm):

    W_E (p, d)   W_pos (2, d)   W_V (h, d, k)   W_O (h, k, d)   W_in (d, m)   b_in (m)   W_out (m, d)   b_out (d)
    W_U (d, p)

Further tensors are not read. For one head, or V and O already multiplied, use h = 1 and k = d, W_V the product and W_O
the identity. The file does not record the attention, so the output begins with it: the certified network has attention
1/2 to both tokens, or 1 (`--attention 1`), which doubles the values.
"""

from difflib import get_close_matches
from pathlib import Path

import numpy as np

from allmlp.common.errors import UserError
from allmlp.studies.quadrature.certificate import NAMES, operations
from allmlp.studies.quadrature.certificate.levels import Certificate, certify
from allmlp.studies.quadrature.certificate.network import check
from allmlp.studies.quadrature.frequencies import Floats
from allmlp.training.storage import MANIFEST, load_tensors, read_manifest, read_tensors

HEADS = ("level", "terms", "certified pairs", "smallest", "mean bound", "operations", "of brute force", "took")
ARCHITECTURES = ("constant-attention", "hand-coded-addition")  # names of runs with such weights
NEAREST = 3  # run ids suggested for an unknown one
HALF = 0.5  # the attention that every run of this project has
ATTENTION = {HALF: "1/2", 1.0: "1"}
CHECKPOINTS, FINAL = Path("results/checkpoints"), "final.safetensors"


def show(run: str, start: Path, attention: float = HALF) -> None:
    """Print the certificate of a run id, of its folder or of a safetensors file; paths are relative to `start`."""
    file = find(run, start)
    weights, own = read(file), file.name not in _listed_files(file)
    if attention not in ATTENTION or (attention != HALF and not own):
        raise UserError(
            f"--attention {attention:g}: 0.5, as in every run of this project, or 1 for weights of your own that were "
            "trained with it. Other values would round the weights: scale W_V yourself."
        )
    sizes = check(weights, str(file))
    size, brute = f"p={sizes['p']}, d_model={sizes['d']}, d_mlp={sizes['m']}", operations.count_brute_force(sizes) / 1e6
    print(f"{file}: {_network(own, attention)}", flush=True)
    print(f"{size}; {brute:.3g} M operations by brute force, then the levels", flush=True)
    _print(certify(halve_attention(weights, attention), str(file)))


def _network(own: bool, attention: float) -> str:
    """The attention of the certified network, and the option for the other one."""
    this = f"certified as attention {ATTENTION[attention]} to both tokens, one layer of ReLUs, no norm, no softmax"
    other = ATTENTION[1.0 if attention == HALF else HALF]
    way = f"attention {other}: --attention {1 if attention == HALF else 0.5:g}"
    return f"{this}; weights of another network get numbers that are not its own ({way})" if own else this


def halve_attention(weights: dict[str, Floats], attention: float) -> dict[str, Floats]:
    """Weights with attention 1/2 for the same network: the values scaled, by 2 without rounding."""
    return {**weights, "W_V": weights["W_V"] * (attention / HALF)}


def _listed_files(file: Path) -> dict[str, str]:
    """The files beside it that this project's training wrote, with their digests."""
    return read_manifest(file.parent) if (file.parent / MANIFEST).is_file() else {}


def find(run: str, start: Path) -> Path:
    """The file of a run id, a folder or a file. UserError, naming the nearest runs, where there is none."""
    for path in (start / run, CHECKPOINTS / run):
        if path.is_file():
            return path
        if (path / FINAL).is_file():
            return path / FINAL
    trained = (path.parent.name for path in CHECKPOINTS.glob(f"*/{FINAL}"))
    there = sorted(name for name in trained if name.startswith(ARCHITECTURES))
    shown = ", ".join(get_close_matches(run, there, NEAREST, cutoff=0.0))
    pointer = CHECKPOINTS / f"{run}.dvc"
    kept = f" `dvc pull {pointer}` may bring it back; `snakemake` trains it again." if pointer.is_file() else ""
    raise UserError(
        f"{run}: no run id with {CHECKPOINTS}/<id>/{FINAL}, no folder with {FINAL} and no safetensors file.{kept} "
        f"Of {len(there)} trained here the nearest: {shown or 'none; `snakemake` trains them'}."
    )


def read(file: Path) -> dict[str, Floats]:
    """All tensors as float64. A run's own file is checked against its manifest."""
    if digest := _listed_files(file).get(file.name):
        way_out = f"delete {file.parent} and run again, or `dvc checkout {file.parent}`."
        tensors = read_tensors(file, digest, way_out)
    else:
        tensors = load_tensors(file)
    if wrong := [name for name, tensor in tensors.items() if tensor.is_complex()]:
        raise UserError(f"{file}: {wrong[0]} holds complex numbers. A certificate needs real weights.")
    return {name: np.asarray(tensor.double().numpy()) for name, tensor in tensors.items()}


def _print(certificate: Certificate) -> None:
    from rich.console import Console
    from rich.table import Table

    truth = certificate.levels[0]
    print(f"key frequencies {', '.join(map(str, certificate.keys))}")
    table = Table(box=None, header_style="bold")
    for head in HEADS:
        table.add_column(head, justify="left" if head == "level" else "right", overflow="fold")
    for level in certificate.levels:
        table.add_row(
            NAMES[level.name],
            str(level.terms or ""),
            percent(level.certified_share),
            f"{level.lower.min():.3f} nats",
            f"{level.lower.mean():.3f} nats",
            f"{level.operations / 1e6:.3g} M",
            f"{level.operations / truth.operations:.3g}",
            f"{level.seconds:.1f} s",
        )
    Console(width=None if Console().is_terminal else 160).print(table)
    pairs = truth.lower.size
    print(
        f"Of {pairs} sums {int((truth.lower > 0).sum())} are proved right by brute force and "
        f"{int((certificate.upper < 0).sum())} wrong (smallest margin {truth.lower.min():.4g} nats). "
        "Bounds are proved: ball arithmetic, nothing of the network left out."
    )


def percent(share: float) -> str:
    """Rounded down, so that 100 % means all pairs."""
    return f"{np.floor(share * 1e4) / 1e2:.2f} %"
