"""Measures without training, taken once: how Appendix H sorts neurons of known class (000-19)."""

from dataclasses import replace

from allmlp.protocols import Context
from allmlp.run import Run
from allmlp.studies.language.runs.last_token import last_token_run
from allmlp.studies.language.runs.neurons import NeuronSettings
from allmlp.studies.settings import Optimiser

WITHOUT_TRAINING = ("constructed_neurons", "context_parameters", "dct_identities")
SMALLEST = {"context": 15, "d_model": 8, "d_mlp": 8, "n_blocks": 1}  # the measure does not depend on it


def run(settings: NeuronSettings, context: Context) -> Run:
    """A small MLP of no training steps."""
    found = last_token_run(
        settings,
        context,
        name="mlp-untrained",
        labels={"part": "untrained"},
        architecture="mlp",
        sizes=dict(SMALLEST),
        corpus=settings.corpus,
        batch_size=1,
        optimiser=Optimiser(learning_rate=1.0),  # not used, and its settings do not change the id
        steps=0,
        seed=0,
        measures=WITHOUT_TRAINING,
    )
    return replace(found, precision="float32", compile=False, device="cpu")
