"""What every package uses: errors, paths, locks, whole files, recipes. Knows nothing of models or papers."""
