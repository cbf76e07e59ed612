"""The commands: `main` has all, `minimal` those of a machine that only trains."""
