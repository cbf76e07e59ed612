"""RECIPE numbers and the sources behind them, read without importing anything.

A run's id holds the RECIPE of its architecture, its task and the training loop; a measurement's name holds its
measure's. A RECIPE is a small integer in the module it belongs to, raised by hand when a change alters results. A
measure has its own, in its decorator; here it is called `module:measure`.
`recipes.lock` keeps a hash of the sources behind each RECIPE (the module, or what the measure uses of it, and all of
allmlp that these import, comments and docstrings left out), so that `allmlp check` notices a change. The hash is of the
syntax tree, which is the same on every Python version; the text that `ast.unparse` writes is not.
"""

import ast
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from allmlp.common import git
from allmlp.common.errors import UserError

LOCK = "recipes.lock"
PACKAGE = Path(__file__).parents[1]
NAMES = (
    *("common.atomic", "common.errors", "common.git", "common.paths", "common.recipes", "common.schema"),
    *("data.tasks", "measurements.origins", "models", "spec.catalogue", "spec.columns", "spec.protocols", "spec.run"),
)
BLIND = frozenset(f"allmlp.{name}" for name in NAMES)  # cannot change a result: names, registries, descriptions
DECLARED = re.compile(r"^RECIPE = ([0-9]+)", re.MULTILINE)  # every plan asks: twenty times as fast as the syntax tree
MEASURE = re.compile(r"^@measure\(.*?recipe=([0-9]+).*?^def (\w+)\(", re.MULTILINE | re.DOTALL)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)  # nodes that may have a docstring
NO_CODE = {"ctx", "kind", "type_comment"}  # fields of syntax nodes that say nothing about what the code does
LEDGERS = {"about.yaml", "claims.yaml", "errata.yaml", "inventory.yaml", "model_facts.json"}  # no result reads them


def source(module: str) -> Path:
    """The file of a module of this package, or of a measure in it: `allmlp.models.mlp` -> .../models/mlp.py."""
    stem = PACKAGE.joinpath(*module.partition(":")[0].split(".")[1:])
    return stem.with_suffix(".py") if stem.with_suffix(".py").is_file() else stem / "__init__.py"


def syntax_tree(module: str) -> ast.Module:
    """The syntax tree of a module, or what a measure uses of it, a new one each time. UserError for an unknown one."""
    path = source(module)
    if not path.is_file():
        raise UserError(f"{module}: no such module ({path})")
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):  # Python 3.12 ends some f-strings with an empty text
            node.values = [one for one in node.values if not (isinstance(one, ast.Constant) and one.value == "")]
    if measure := module.partition(":")[2]:
        tree.body = _used_statements(tree.body, measure)
    return tree


def _used_statements(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """The statements of a module that bind a name, and what these use; in their order."""
    used, waiting = set(), {name}
    while waiting:
        found = {one for one in body if one not in used and waiting & bound_names(one)}
        used |= found
        waiting = {node.id for one in found for node in ast.walk(one) if isinstance(node, ast.Name)}
    return [one for one in body if one in used]


def bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement binds at the top of a module, in conditions too."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    bound = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    named = (alias for node in ast.walk(statement) for alias in getattr(node, "names", []) if hasattr(alias, "asname"))
    return bound | {alias.asname or alias.name.split(".")[0] for alias in named}


_tree = cache(syntax_tree)


@cache
def declared(module: str) -> dict[str, int]:
    """The recipes in a module: of itself, and of each `module:measure`. UserError for an unknown module."""
    if not (file := source(module)).is_file():
        raise UserError(f"{module}: no such module ({file})")
    text = file.read_text(encoding="utf-8")
    found = {module: int(own[1])} if (own := DECLARED.search(text)) else {}
    return found | {f"{module}:{measure}": int(recipe) for recipe, measure in MEASURE.findall(text)}


def recipe_number(module: str) -> int:
    """The RECIPE constant of a module, or the recipe of a measure, without importing it."""
    of_module, _, measure = module.partition(":")
    if (recipe := declared(of_module).get(module)) is None:
        lacking = f"@measure(recipe=1, ...) def {measure}" if measure else "RECIPE = 1"
        raise UserError(
            f"{source(module)}: has no `{lacking}`. Add it, and raise the number if a change alters results."
        )
    return recipe


@cache
def module_code(module: str) -> str:
    """A module's own code as JSON of its syntax tree, without comments and docstrings."""
    return code(syntax_tree(module))


def code(tree: ast.AST) -> str:
    """Code as JSON of its syntax tree, without comments and docstrings. The tree loses its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return json.dumps(_node_to_lists(tree))


def _node_to_lists(node: Any) -> Any:
    """A syntax node as nested lists: its kind, and its fields that are not empty. Python versions differ in those."""
    if isinstance(node, list):
        return [_node_to_lists(one) for one in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if name not in NO_CODE)
    return [
        type(node).__name__,
        *([name, _node_to_lists(value)] for name, value in fields if value is not None and value != []),
    ]


@cache
def _imports(module: str) -> set[str]:
    """The modules of this package that a module imports, at the top or inside functions, not for its types alone."""
    found: set[str] = set()
    body = [of for of in _tree(module).body if not (isinstance(of, ast.If) and "TYPE_CHECKING" in ast.dump(of.test))]
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "allmlp":
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "allmlp"}
    return {name for name in found if name != "allmlp" and source(name).is_file() and _has_code(name)}


@cache
def _has_code(module: str) -> bool:
    """Is there more in a module than a docstring? A package that only holds modules has no code of its own."""
    return len(_tree(module).body) > 1 or ast.get_docstring(_tree(module)) is None


def sources(*modules: str, blind: frozenset[str] = BLIND) -> list[str]:
    """Modules and everything of allmlp that they import, directly or not, except what cannot alter a result."""
    seen, waiting = set(), list(modules)
    while waiting:
        name = waiting.pop()
        if name not in seen and (name in modules or name not in blind):
            seen.add(name)
            waiting += _imports(name)
    return sorted(seen)


def _data(module: str) -> str:
    """Other source files: a package's word lists and templates, and the table beside a module."""
    path = source(module)
    if path.name == "__init__.py":
        files = [file for file in sorted(path.parent.rglob("*")) if file.suffix in {".yaml", ".txt"}]
    else:
        files = [file for file in [path.with_suffix(".json")] if file.is_file()]
    return "".join(file.read_text(encoding="utf-8") for file in files if file.name not in LEDGERS)


@cache
def fingerprint(*modules: str, blind: frozenset[str] = BLIND) -> str:
    """A hash of the sources behind a module's RECIPE, or behind several modules, ignoring docstrings and layout."""
    names = sources(*modules, blind=blind)
    text = "\n".join(f"# {name}\n{module_code(name)}{_data(name)}" for name in names)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def modules() -> list[str]:
    """Every module of the package that has a RECIPE, and every `module:measure`."""
    names = [".".join(("allmlp", *p.relative_to(PACKAGE).with_suffix("").parts)) for p in sorted(PACKAGE.rglob("*.py"))]
    names = [name.removesuffix(".__init__") for name in names]
    return [recipe for name in names for recipe in declared(name)]


def committed(root: Path) -> set[str]:
    """The recipes in HEAD's recipes.lock; all that there are where git does not say."""
    text = git.output(root, "show", f"HEAD:./{LOCK}")
    return set(json.loads(text)) if text else set(modules())
