"""Bundles: a scale's open runs as one file, for a machine without a network, and back.

    manifest.json    the first member of a zstd tar: sha256 and size of each that follows
    work/plan.json   the open runs as plain values, see portable.py
    work/runs/       the newest state of each begun run
    results/         tokens and checkpoints that open runs need
    work/measurements/, work/timings/    measurements that are not in git, and times of trainings
A bundle contains no code. Everything in it is checked before anything is written.
"""
