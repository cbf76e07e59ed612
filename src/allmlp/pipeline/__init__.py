"""What commands and Snakemake's jobs do, from tokens to a reproduced report."""
