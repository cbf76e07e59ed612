"""`make gpu-hour`: everything that a GPU is needed for, in stages of minutes, most valuable first.

    stages      what each stage calls, the file that it ends in, and when that file is whole
    running     stages within the minutes that are given; a killed call goes on, a failed stage stops no other
    deciding    the last stage: open runs that decide most claims, several on a card
    closing     the report: what each stage gave, what it would renew, the commands that take it in

    python -m allmlp.pipeline.gpu_hour --out hour --minutes 30 --bundle open.bundle

It needs no network, and works where only `.[train]` is installed. Of the repository's files it writes none: what the
runs have made lies in work/ and in the store, as after `allmlp advance`, and goes back as a bundle.
"""
