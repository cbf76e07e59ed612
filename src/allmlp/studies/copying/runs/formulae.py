"""What no training alters, measured once: a CausalRN of the paper's size, of no training steps (002-6, -10, -11)."""

from allmlp.run import Run
from allmlp.studies.copying.runs.strings import VOCABULARY, StringSettings

WITHOUT_TRAINING = ("exact_forms", "operations", "parameter_counts")
PAPER_SIZE = {"d_model": 192, "n_blocks": 12}
SHORTEST = 16  # the paper's shortest strings; no count of parameters depends on it


def run(settings: StringSettings) -> Run:
    """The run that these measures are taken of."""
    return Run(
        study="copying",
        name="causal-rn-untrained",
        labels={"model": "causal-rn", "part": "formulae"},
        architecture="causal-rn",
        hyperparameters={"vocabulary": VOCABULARY, "context": 2 * SHORTEST + 2, **PAPER_SIZE},
        task="copying",
        task_parameters={"string_length": SHORTEST, "batch_size": 1},
        measures=WITHOUT_TRAINING,
        **settings.untrained(),
    )
