"""Figures of study 004."""
