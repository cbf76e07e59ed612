"""The generator's settings. Nothing in the pages asks for another host, and the search needs no server."""

import os
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

from tests.pages import summaries
from tests.pages.docstrings import structured

lexers["mermaid"] = TextLexer()  # drawn where git's pages are read; here its text, as drawing it asks another host

project = "allmlp"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
html_theme = "furo"
html_title = "allmlp"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_search_scorer = os.path.join(os.path.dirname(__file__), "scores.js")
html_theme_options: dict[str, Any] = {"footer_icons": [], "top_of_page_buttons": []}
html_static_path = [os.path.join(os.path.dirname(__file__), "static")]
html_css_files = ["pages.css"]
html_js_files = ["accessible.js"]
pygments_style = "default"
highlight_language = "text"
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # docs/ is read on its own, too: a page may begin where it likes

autodoc_default_options = {"members": True, "member-order": "bysource", "ignore-module-all": True}
autodoc_inherit_docstrings = False
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
add_module_names = False
toc_object_entries = False
ALIAS = "Alias for field number"  # the docstring that Python gives to fields of a NamedTuple


def setup(app: Any) -> None:
    """Sphinx calls it."""
    app.connect("autodoc-process-docstring", _as_structured)
    app.connect("autodoc-skip-member", _skipped)
    app.connect("html-page-context", summaries.add_to_search)
    app.connect("build-finished", summaries.write)


def _as_structured(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    lines[:] = structured(lines)


def _skipped(app: Any, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    return True if str(getattr(found, "__doc__", "")).startswith(ALIAS) else None
