"""Every form that trains at scales gpu and paper compiles to one graph, once, with no more kernels than before."""

from pathlib import Path

import pytest

from tests.numerics import compiled_steps

FORMS = compiled_steps.read()["forms"]
AGAIN = "run `python -m tests.numerics.compiled_steps` if this is wanted"


def test_the_record_has_the_forms_of_the_plan(published: Path) -> None:
    assert list(FORMS) == list(compiled_steps.runs()), AGAIN


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("form", FORMS)
def test_a_step_compiles_to_one_graph_and_never_again(form: str, tmp_path: Path) -> None:
    found = compiled_steps.compiled(compiled_steps.runs()[form], tmp_path)
    assert found["breaks"] == []
    assert found["graphs"] == [1, 1]
    if compiled_steps.read()["torch"] == compiled_steps.VERSION:
        assert {key: found[key] for key in ("forward", "backward")}.items() <= FORMS[form].items(), AGAIN


@pytest.mark.usefixtures("published")
@pytest.mark.skipif(compiled_steps.read()["torch"] != compiled_steps.VERSION, reason="counted with another PyTorch")
@pytest.mark.parametrize("form", FORMS)
def test_a_plain_step_asks_for_as_many_kernels_and_bytes(form: str) -> None:
    assert compiled_steps.uncompiled(compiled_steps.runs()[form]).items() <= FORMS[form].items(), AGAIN
