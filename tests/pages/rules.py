"""The form of a rule, from the models that check `claims.yaml`."""

import inspect

from pydantic import BaseModel

from allmlp.spec import claims_yaml
from tests.pages.described import keys, label, reached
from tests.pages.markdown import paragraphs

HEAD = """# The form of a rule

A study's `claims.yaml` is a list of claims. Each has the rule that judges it, written before the result, and what its
power is computed from. `allmlp report --export DIR` writes all rules, their JSON schema, and the verdicts by them.

"""


def page() -> str:
    """A claim, the blocks in it, and a claim on the number of another one."""
    models = [claims_yaml.Claim, *reached(claims_yaml.Claim), claims_yaml.RepeatedClaim]
    return HEAD + "".join(map(_block, models))


def _block(model: type[BaseModel]) -> str:
    return f"({label(model)})=\n## {model.__name__}\n\n{paragraphs(inspect.cleandoc(model.__doc__ or ''))}{keys(model)}"
