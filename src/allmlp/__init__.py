"""allmlp: every experiment of five papers on all-MLP sequence models, run again and judged."""

__version__ = "0.1.0"
