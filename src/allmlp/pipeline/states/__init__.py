"""States: a commit with its results. Pinned by a name, verified byte for byte, compared with another."""
