"""A folder for each paper, and what several of them share. `allmlp.spec.catalogue` finds their parts."""
