"""What each paper prints otherwise than it is run here, from the errata.yaml of the studies."""

from allmlp.spec import catalogue
from tests.pages.markdown import plain

HEAD = """# What was changed in each paper

A paper leaves something open, or prints what its own code or arithmetic contradicts. Each such place is an erratum:
what is printed, what is right and is run here, and how that was checked. Claims name the errata that concern them.

"""


def page() -> str:
    """A section for each paper, an erratum each below."""
    return HEAD + "".join(map(_study, (study for study in catalogue.STUDIES if catalogue.ledger(study, "errata"))))


def _study(study: str) -> str:
    about = catalogue.read_about(study)
    number = catalogue.STUDIES[study]
    head = f"## {number} {plain(about['paper'])}\n\n{plain(about['authors'])}\n\n{plain(about['slice'])}\n\n"
    return head + "".join(map(_erratum, catalogue.ledger(study, "errata")))


def _erratum(row: dict[str, str]) -> str:
    said = {"Printed": row["printed"], "Right": row["right"], "Checked": row["how"]}
    lines = [f"**{name}.** {plain(' '.join(text.split()))}" for name, text in said.items()]
    return f"### {row['id']}\n\n{plain(row['found'])}\n\n" + "\n\n".join(lines) + "\n\n"
