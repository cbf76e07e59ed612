"""What the search shows of each page that it finds: Sphinx would fetch the page, which a browser refuses for files.

The text of all pages lies in _static/texts.js, in sections; static/summaries.js gives it to Sphinx's own search.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes

TEXTS = "texts.js"
UNREAD = (nodes.comment, nodes.raw)


def sections(doctree: Any) -> Iterator[tuple[str, str]]:
    """The anchor and the text of each section of a page, without that of the sections in it."""
    for section in doctree.findall(nodes.section):
        words = [
            "".join(text for text in lines.findall(nodes.Text) if not isinstance(text.parent, UNREAD))
            for lines in section.findall(nodes.TextElement)
            if not isinstance(lines, UNREAD)
            and _above(lines, nodes.section) is section
            and _above(lines, nodes.TextElement) is None
        ]
        yield f"#{section['ids'][0]}", " ".join(" ".join(words).split())


def _above(node: Any, kind: type) -> Any:
    """The nearest node of a kind around another one."""
    node = node.parent
    while node is not None and not isinstance(node, kind):
        node = node.parent
    return node


def write(app: Any, error: Exception | None) -> None:
    """Sphinx calls it when all pages are made."""
    if error is None and app.builder.format == "html":
        texts = {name: list(sections(app.env.get_doctree(name))) for name in sorted(app.env.found_docs)}
        content = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
        Path(app.outdir, "_static", TEXTS).write_text(f"const TEXTS = {content};\n", encoding="utf-8")


def add_to_search(app: Any, name: str, template: str, context: Any, doctree: Any) -> None:
    """The texts are read where the search is, and nowhere else."""
    if name == "search":
        for script in (TEXTS, "summaries.js"):
            app.add_js_file(script, priority=900)
