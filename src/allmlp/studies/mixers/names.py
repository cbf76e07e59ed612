"""Names of parts, sizes and models. Imports no pandas: every command plans runs with them."""

TRAINING, SEARCH, WINDOWS, EMBEDDER = "training", "search", "windows", "embedder"  # the label `part`
BASE = "base"  # the label `size` of the size that all models share
FLAT, EXPANDED, LLAMA = "flat", "expanded", "llama-4"  # the models of most claims
SIZES = {"d_model": 1024, "vocabulary": 4096}  # of the models whose memory is counted
