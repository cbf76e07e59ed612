"""Figures of study 000: measurements -> a figure."""
