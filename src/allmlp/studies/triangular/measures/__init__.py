"""Measures of study 004: one run's checkpoints -> a tidy table."""
