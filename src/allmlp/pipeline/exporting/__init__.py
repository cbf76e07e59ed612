"""`allmlp export RUN`: a run in the forms of other tools."""
