"""Figures of the crossover: measurements -> a figure, one file each."""
