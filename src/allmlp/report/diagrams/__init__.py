"""Diagrams of architectures, drawn from a model that runs: `tracing` reads it, `column` and `board` show it.

Figures import these modules when they are drawn, because `tracing` imports torch: the last mile starts without it.
"""

READING = (
    "Every step of the model from top to bottom, read off while it ran. A box is a module or an operation, blue if it "
    "has weights; their number at the sizes below is beside it, and `fixed` is a constant. Between boxes is the shape "
    "of what is passed on. A line at the left passes over steps; where it ends in a +, it is a residual connection. A "
    "frame is a module that holds others, and blocks that are alike are drawn once."
)
REACHING = (
    "A square is filled if input token s reaches output token t: the gradient of that output with respect to that "
    "input is not zero."
)
