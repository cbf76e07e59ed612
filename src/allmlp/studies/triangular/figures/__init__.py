"""Figures of study 004: measurements -> a figure, one file each."""
