"""What no training alters, measured once: a CausalRN of the paper's size, of no training steps (002-6, -10, -11)."""

from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies.copying.runs.strings import VOCABULARY, StringSettings
from allmlp.studies.settings import Optimiser

WITHOUT_TRAINING = ("exact_forms", "operations", "parameter_counts")
PAPER_SIZE = {"d_model": 192, "n_blocks": 12}
SHORTEST = 16  # the paper's shortest strings; no count of parameters depends on it


def run(settings: StringSettings, context: Context) -> Run:
    """The run that these measures are taken of."""
    return Run(
        study="copying",
        name="causal-rn-untrained",
        labels={"model": "causal-rn", "part": "formulae"},
        architecture="causal-rn",
        hyperparameters={"vocabulary": VOCABULARY, "context": 2 * SHORTEST + 2, **PAPER_SIZE},
        task="copying",
        task_parameters={"string_length": SHORTEST, "batch_size": 1},
        optimiser=Optimiser(learning_rate=1.0).model_dump(),  # takes no part, and no setting of it alters the id
        steps=0,
        seed=0,
        measures=WITHOUT_TRAINING,
        **{**settings.machine("cpu"), "precision": "float32", "compile": False},
    )
