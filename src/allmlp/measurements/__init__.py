"""Stored measurements, and where they came from."""
