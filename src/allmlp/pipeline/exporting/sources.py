"""An architecture's source files as `transformers` loads them from a folder: side by side, with relative imports."""

import re
from pathlib import Path

from allmlp.common import recipes

REMOTE = "modeling_allmlp"
TEMPLATE = Path(__file__).with_name(f"{REMOTE}.txt")
# what an architecture works without: the registry, and kernels that need triton
LEFT_OUT = frozenset({"allmlp.models", "allmlp.models.relation_triton"})
GENERATES = "allmlp.models.sampling"  # reads with an architecture's memory
SPACE = "__name__.replace('.', '_')"
IMPORT = re.compile(r"^(\s*)from allmlp\.(?:\w+\.)*(\w+) import", re.MULTILINE)


def write(module: str, architecture: str, folder: Path) -> list[str]:
    """Write the module, all of allmlp that it imports, and the file that `transformers` imports; returns names."""
    modules = sorted({*recipes.sources(module, blind=LEFT_OUT), *recipes.sources(GENERATES, blind=LEFT_OUT)})
    names = {name: f"{name.rpartition('.')[2]}.py" for name in modules}
    if len(set(names.values())) < len(names):
        raise ValueError(f"{module}: imports two modules of one name: {', '.join(modules)}")
    for name, file in names.items():
        (folder / file).write_text(_make_standalone(recipes.source(name).read_text(encoding="utf-8")), encoding="utf-8")
    remote = TEMPLATE.read_text(encoding="utf-8")
    remote = remote.replace("MODULE", module.rpartition(".")[2]).replace("ARCHITECTURE", architecture)
    imports = [f"from .{Path(file).stem} import __name__ as _" for file in sorted(names.values())]
    remote = remote.replace("FILES", "\n".join(imports))
    (folder / f"{REMOTE}.py").write_text(remote, encoding="utf-8")
    return [f"{REMOTE}.py", *sorted(names.values())]


def _make_standalone(text: str) -> str:
    """Relative imports, and operators of PyTorch in a namespace of the module's own, so that two folders go together.

    `from allmlp.models.base import` -> `from .base import`; the import of a module that is left out fails.
    """
    text = text.replace("from allmlp.models import", "from . import")
    text = IMPORT.sub(r"\1from .\2 import", text)
    return text.replace('"allmlp::', f'f"{{{SPACE}}}::').replace("torch.ops.allmlp.", f"getattr(torch.ops, {SPACE}).")
