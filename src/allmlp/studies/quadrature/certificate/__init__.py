"""Lower bounds on the margins of a whole trained network, proved in outward-rounded arithmetic."""
