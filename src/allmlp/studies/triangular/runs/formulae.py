"""What no training alters, measured once: an untrained model of no steps (004-1, -8, E004-6).

Its own weights are few: the measures build the sizes that they speak of.
"""

from allmlp.run import Run
from allmlp.studies.settings import StudySettings

WITHOUT_TRAINING = ("causality", "parameter_counts", "reach")
SHORTEST = 4  # letters of the strings that the untrained model could copy: what a run must have, and no measure reads


def run(settings: StudySettings) -> Run:
    """The run that these measures are taken of."""
    return Run(
        study="triangular",
        name="triangular-untrained",
        labels={"model": "triangular", "part": "formulae"},
        architecture="triangular",
        hyperparameters={"vocabulary": 29, "context": 2 * SHORTEST + 2, "d_model": 12, "n_blocks": 1},
        task="copying",
        task_parameters={"string_length": SHORTEST, "batch_size": 1},
        measures=WITHOUT_TRAINING,
        **settings.untrained(),
    )
