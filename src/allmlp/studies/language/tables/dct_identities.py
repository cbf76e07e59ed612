"""What a DCT neuron expresses exactly (000-18)."""

import pandas as pd

MEASURES = ["dct_identities"]
PAPER = "Appendix C.1"
CLAIMS = ["000-18"]
TITLE = "What a DCT neuron can express"
CAPTION = (
    "Largest difference, in float64 on random sequences, of a DCT neuron and the function that it is to be: a random "
    "linear function of the last k tokens (window t = k), and a linear function of the mean of all tokens (k = 1, t = "
    "T). Beside them its weights, counted. Only with the frequencies 0 to k - 1 over a window of exactly t tokens do "
    "these hold (E000-5)."
)


def tabulate(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Columns identity, window, frequencies, d_model, weights, difference_1."""
    columns = ["identity", "window", "frequencies", "d_model", "weights", "difference_1"]
    return tables["dct_identities"].drop_duplicates(columns[:4])[columns].reset_index(drop=True)
