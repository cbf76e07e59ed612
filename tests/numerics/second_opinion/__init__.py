"""A second, plain implementation of the verdicts, written from the words of claims.yaml: numpy and scipy only.

Nothing is imported from the package. `stored` reads selected.json, claims.yaml and the measurements, `numbers` has
the tests that the words name, and each study's file has one short function per claim, registered by the claim's id.
`python -m tests.numerics.second_opinion [ID...]` prints both implementations side by side.
"""
