"""Tables that a page quotes from a measurement, between <!-- mark --> and <!-- /mark -->."""

import re

from tests.conftest import PROJECT


def assert_quoted(page: str, mark: str, table: str) -> None:
    """The page quotes this table. The failure prints what to copy."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- {mark} -->\n(.*?)\n<!-- /{mark} -->", text, re.DOTALL)
    assert found, f"{page} lacks <!-- {mark} --> ... <!-- /{mark} -->"
    assert found[1] == table, f"copy this:\n{table}"
