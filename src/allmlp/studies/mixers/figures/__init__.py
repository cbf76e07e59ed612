"""Figures of study 001: measurements -> a figure."""
