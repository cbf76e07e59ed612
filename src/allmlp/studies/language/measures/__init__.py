"""Measures of study 000: one run's checkpoints -> a tidy table."""
