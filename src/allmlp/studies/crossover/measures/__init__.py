"""Measures of the crossover, a file each."""
