"""The verdict on keywords (000-11) says in words what no number stands for."""

import numpy as np
import pandas as pd
import pytest

from allmlp.studies.language.verdicts import words


@pytest.mark.parametrize(("coherence", "said"), [(np.nan, "by l2 undefined"), (0.25, "by l2 0.000")])
def test_a_coherence_that_is_undefined_is_said_so(coherence: float, said: str) -> None:
    classes = (words.BAG_OF_WORDS, words.N_GRAM)
    rows = pd.DataFrame([(seed, kind, "l2", coherence) for seed in (0, 1) for kind in classes])
    rows.columns = pd.Index(["seed", "class", "nearness", "coherence_1"])
    assert words._nearness_text(rows, words.N_GRAM, "l2") == said
