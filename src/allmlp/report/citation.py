"""How this project is cited, by CITATION.cff: its fields, and the same as BibTeX."""

from typing import Any

from allmlp.common import paths, yaml_file
from allmlp.common.errors import UserError

FILE = "CITATION.cff"
ASKED = ("title", "version", "date-released", "license", "authors")


def citation() -> dict[str, Any]:
    """The fields of CITATION.cff, `by` (all authors) and `bibtex`. UserError for a field that the file lacks."""
    found = yaml_file.parse_plain((paths.project() / FILE).read_text(encoding="utf-8"))
    if lacking := [name for name in ASKED if not found.get(name)]:
        raise UserError(f"{FILE}: lacks {', '.join(lacking)}, which the report names.")
    names = [one.get("name") or f"{one['given-names']} {one['family-names']}" for one in found["authors"]]
    fields = {
        "title": f"{{{found['title']}}}",
        "author": " and ".join(f"{{{name}}}" for name in names),
        "year": str(found["date-released"])[:4],
        "version": found["version"],
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return {**found, "by": ", ".join(names), "bibtex": f"@software{{allmlp,\n{lines}}}"}
