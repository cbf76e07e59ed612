"""Options of the commands that do not go together are refused with a sentence, before anything is read or done."""

import pytest
from typer.testing import CliRunner

from allmlp.cli import main
from allmlp.common.errors import UserError


@pytest.mark.usefixtures("in_project")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plan --why x --diff", "--diff cannot be combined with --why"),
        ("plan --budget 3h --price 2", "--price cannot be combined"),
        ("train", "name runs, or one batch"),
        ("train a --batch b", "name runs, or one batch"),
        ("keep --undo", "--undo: name the runs"),
        ("keep a --publish --push", "leave out --push"),
        ("verify --rerun", "needs --claim or --study"),
        ("verify --rerun --study copying --seeds 2", "--seeds goes with --claim"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: str, said: str) -> None:
    done = CliRunner().invoke(main.app, words.split())
    assert isinstance(done.exception, UserError)
    assert said in str(done.exception)
