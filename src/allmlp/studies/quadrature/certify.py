"""`allmlp certify`: the certificate of a run of this project, or of anyone's weights for the same architecture.

A file of your own is a safetensors file with these tensors, of any float type (p tokens, d features, h heads of k
features, m neurons; the network is that of `circuits`, attention 1/2 everywhere, no norm):

    W_E (p, d)   W_pos (2, d)   W_V (h, d, k)   W_O (h, k, d)   W_in (d, m)   b_in (m)   W_out (m, d)   b_out (d)
    W_U (d, p)

Further tensors are not read. One head per network, or V and O already multiplied, are h = 1 and k = d with W_V the
product and W_O the identity.
"""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file

from allmlp.errors import UserError
from allmlp.studies.quadrature.certificate.intervals import Floats
from allmlp.studies.quadrature.certificate.levels import Certificate, certify
from allmlp.studies.quadrature.certificate.network import LAYOUT
from allmlp.training.storage import MANIFEST, read_json, read_tensors

HEADS = ("level", "terms", "certified pairs", "smallest", "mean bound", "operations", "of brute force", "took")
ARCHITECTURES = ("constant-attention", "hand-coded-addition")  # what runs with such weights are called
CHECKPOINTS, FINAL = Path("results/checkpoints"), "final.safetensors"


def show(run: str, start: Path) -> None:
    """Print the certificate of a run id, of its folder or of a safetensors file; paths are relative to `start`."""
    file = find(run, start)
    _print(certify(read(file), str(file)), file)


def find(run: str, start: Path) -> Path:
    """The weights that are meant. Raises UserError, saying what there is, where nothing is."""
    for path in (start / run, CHECKPOINTS / run):
        if path.is_file():
            return path
        if (path / FINAL).is_file():
            return path / FINAL
    trained = (path.parent.name for path in CHECKPOINTS.glob(f"*/{FINAL}"))
    there = sorted(name for name in trained if name.startswith(ARCHITECTURES))
    kept = " It is kept: `dvc pull` brings it back." if (CHECKPOINTS / f"{run}.dvc").is_file() else ""
    raise UserError(
        f"{run}: no run id with {CHECKPOINTS}/<id>/{FINAL}, no folder with {FINAL} and no safetensors file.{kept} "
        f"Trained here: {', '.join(there) or 'none; `snakemake` trains them'}."
    )


def read(file: Path) -> dict[str, Floats]:
    """The tensors of LAYOUT as float64. A run's own file is checked against its manifest."""
    manifest = file.parent / MANIFEST
    listed = read_json(manifest) if manifest.is_file() else {}
    if file.name in listed:
        way_out = f"delete {file.parent} and run again, or `dvc checkout {file.parent}`."
        tensors = read_tensors(file, listed[file.name], way_out)
    else:
        try:
            tensors = load_file(file)
        except (SafetensorError, OSError) as error:
            raise UserError(f"{file}: cannot be read as safetensors ({error}).") from error
    return {name: np.asarray(tensors[name].double().numpy()) for name in LAYOUT if name in tensors}


def _print(certificate: Certificate, file: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    sizes, truth = certificate.sizes, certificate.levels[0]
    keys = ", ".join(map(str, certificate.keys))
    print(f"{file}: p={sizes['p']}, d_model={sizes['d']}, d_mlp={sizes['m']}, key frequencies {keys}")
    table = Table(box=None, header_style="bold")
    for head in HEADS:
        table.add_column(head, justify="left" if head == "level" else "right", overflow="fold")
    for level in certificate.levels:
        table.add_row(
            level.name,
            str(level.terms or ""),
            _percent(level.certified),
            f"{level.lower.min():.3f} nats",
            f"{level.lower.mean():.3f} nats",
            f"{level.operations / 1e6:.3g} M",
            f"{level.operations / truth.operations:.3g}",
            f"{level.seconds:.1f} s",
        )
    Console(width=None if Console().is_terminal else 160).print(table)
    pairs = truth.lower.size
    print(
        f"{int((truth.lower > 0).sum())} of {pairs} sums are right (smallest margin {truth.lower.min():.4g} nats). "
        "Bounds are proved: ball arithmetic, nothing of the network left out."
    )


def _percent(share: float) -> str:
    """Rounded down, so that 100 % is said of all pairs only."""
    return f"{np.floor(share * 1e4) / 1e2:.2f} %"
