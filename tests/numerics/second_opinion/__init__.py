"""A second, plain implementation of the verdicts, written from the words of claims.yaml: numpy and scipy only.

Nothing is imported from the package. `stored` reads selected.json, claims.yaml and the measurements, `numbers` has
the tests that the words name, `crossing` the place where a lead changes hands, and each study's files have one short
function per claim, registered by the claim's id. Made-up measurements go through it by `stored.Measured`.
`python -m tests.numerics.second_opinion [ID...]` prints both implementations side by side.
"""
