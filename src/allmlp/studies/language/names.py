"""Names of the study's parts and of a corpus's controls. Imports no pandas: every command plans runs with them."""

NEURONS, VARIATION, CONTROL = "neurons", "variation", "control"
CONTROLS = {"sentences": "sentences shuffled", "words": "words shuffled"}  # what a control's name ends with


def corpus_controls(corpus: str) -> dict[str, str]:
    """Names of a corpus's controls -> their descriptions."""
    return {f"{corpus}-{ending}": lacks for ending, lacks in CONTROLS.items()}
