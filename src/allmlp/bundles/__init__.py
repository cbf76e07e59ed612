"""Bundles: a scale's open runs as one file, for a machine without a network, and back.

    manifest.json    the first member of a zstd tar: sha256 and size of each that follows
    work/plan.json   the open runs as plain values, see resolved.py
    work/runs/       the newest state of each begun run
    results/         tokens and checkpoints that open runs need
    work/measurements/, work/timings/    measurements that git does not hold, and what trainings took
Nothing in a bundle is code, and nothing of it is written before everything in it is checked.
"""
