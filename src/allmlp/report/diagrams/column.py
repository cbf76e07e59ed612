"""A model as a column: a box for each step, arrows with shapes between them, frames around open modules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allmlp.report.diagrams.folding import Frame, Rows
from allmlp.report.diagrams.pen import EDGE, PLAIN, SMALL, SOFT, WEIGHTS, Pen, width
from allmlp.report.diagrams.sizes import Sizes
from allmlp.report.diagrams.subject import Subject
from allmlp.report.diagrams.tracing import INPUT, Step

BOX, GAP, TITLE = 17.0, 17.0, 13.0  # heights of a box, of the arrow below it, of a frame's title
INDENT, LANE, PAD = 7.0, 9.0, 6.0
WORDS = {
    "add": "+",
    "amax": "largest",
    "causal_relation": "sum over pairs",
    "cumsum": "running sum",
    "div": "÷",
    "embedding": "chosen rows",
    "matmul": "matrix product",
    "token_product": "product over tokens",
    "mul": "×",
    "sub": "−",
}


@dataclass
class Jump:
    """A value that is read by a later step than the next one: from the gap below row `start` to row `end`."""

    start: int
    end: int
    lane: int = 0


class Column:
    """The drawing of one model; `given` is what the page calls its input."""

    def __init__(self, subject: Subject, title: str, given: str) -> None:
        self.subject, self.title, self.given = subject, title, given
        self.rows = Rows.from_model(subject.step)
        self.jumps = jumps(self.rows)
        self.labels = [label(step, subject.sizes) for step in self.rows.steps]
        self.counts = list(_weight_counts(subject, self.rows.steps))
        deepest = max((frame.depth + 1 for frame in self.rows.frames), default=0)
        self.inset = deepest * INDENT
        self.lanes = (1 + max((jump.lane for jump in self.jumps), default=-1)) * LANE
        self.box = max(map(width, self.labels)) + 2 * PAD
        self.shapes = [self._shape(number) for number in range(len(self.labels))]
        titles = [width(self._title(frame), SMALL) + 2 * PAD for frame in self.rows.frames]
        right = max(width(text, SMALL) for text in self.counts) + PAD + self.box / 2
        self.right = max(right, *(width(shape, SMALL) + PAD for shape in self.shapes), *titles)
        self.width = max(2 * self.inset + self.lanes + self.box / 2 + self.right, width(title))
        self.tops = list(self._tops())
        self.height = self.tops[-1] + GAP + 2 * BOX + PAD

    def _tops(self) -> Iterator[float]:
        y = 2 * TITLE + GAP + 4
        for number in range(len(self.rows.steps)):
            y += TITLE * sum(frame.first == number for frame in self.rows.frames)
            yield y
            y += BOX + GAP + 4 * sum(frame.last == number for frame in self.rows.frames)

    def draw(self, pen: Pen, left: float, top: float) -> None:
        """Draw it with its upper left corner there."""
        middle = left + self.inset + self.lanes + self.box / 2
        pen.text(left, top + 6, self.title)
        pen.text(middle, top + TITLE + 8, f"{self.given} {self._input_shape()}", size=SMALL, across="center")
        for frame in self.rows.frames:
            self._frame(pen, frame, left, top)
        for number in range(len(self.rows.steps)):
            self._row(pen, number, middle, top)
        for jump in self.jumps:
            self._jump(pen, jump, middle, top)
        below = top + self.tops[-1] + BOX + GAP + 9
        out = self.subject.sizes.name_shape(self.subject.step.shape)
        pen.text(middle, below, f"out {out}", size=SMALL, across="center")

    def description(self) -> str:
        """The steps in words, in their order, with shapes."""
        times = {frame.first: frame for frame in self.rows.frames if frame.times > 1}
        words = []
        for number, (text, shape) in enumerate(zip(self.labels, self.shapes, strict=True)):
            begins = f"{times[number].times} times {times[number].step.title}, of " if number in times else ""
            words.append(f"{begins}{text} {shape}")
        return f"{self.title}: {self.given} {self._input_shape()}; {'; '.join(words)}."

    def _shape(self, number: int) -> str:
        """Of what a row makes, and the shape in which the next row reads it, if that differs."""
        steps, named = self.rows.steps, self.subject.sizes.name_shape
        if number + 1 == len(steps):
            return _shape_change(named(steps[number].shape), named(self.subject.step.shape))
        reads = [shape for maker, shape in steps[number + 1].reads if self.rows.row[maker] == number]
        return _shape_change(named(steps[number].shape), named(reads[0] if reads else steps[number].shape))

    def _input_shape(self) -> str:
        return self.subject.sizes.name_shape(self.subject.step.reads[0][1])

    def _frame(self, pen: Pen, frame: Frame, left: float, top: float) -> None:
        inset = frame.depth * INDENT
        inner = sum(other.first == frame.first and other.depth > frame.depth for other in self.rows.frames)
        outer = sum(other.last == frame.last and other.depth > frame.depth for other in self.rows.frames)
        y = self.tops[frame.first] - (inner + 1) * TITLE
        high = self.tops[frame.last] + BOX + 4 * (outer + 1) - y
        right = left + self.inset * 2 + self.lanes + self.box / 2 + self.right - inset
        pen.box(left + inset, top + y, right - left - inset, high, "none", EDGE)
        pen.text(right - 4, top + y + 7, self._title(frame), size=SMALL, color=SOFT, across="right")

    def _title(self, frame: Frame) -> str:
        name = frame.step.path.rpartition(".")[2]
        own = "" if name.isdigit() else f"{name}: "
        return f"{own}{frame.step.title}" + (f", {frame.times} times" if frame.times > 1 else "")

    def _row(self, pen: Pen, number: int, middle: float, top: float) -> None:
        step, y = self.rows.steps[number], top + self.tops[number]
        pen.box(middle - self.box / 2, y, self.box, BOX, WEIGHTS if step.weights else PLAIN)
        pen.text(middle, y + BOX / 2, self.labels[number], across="center")
        pen.text(middle + self.box / 2 + 4, y + BOX / 2, self.counts[number], size=SMALL, color=SOFT)
        below = top + (self.tops[number + 1] if number + 1 < len(self.tops) else self.tops[-1] + BOX + GAP)
        if number + 1 == len(self.tops) or is_input(self.rows, number + 1, number):
            pen.arrow((middle, y + BOX), (middle, below))
        else:
            pen.lines.append([(middle, y + BOX), (middle, y + BOX + GAP / 2)])
        pen.text(middle + 4, y + BOX + GAP / 2, self.shapes[number], size=SMALL, color=SOFT)
        if not number and is_input(self.rows, 0, INPUT):
            pen.arrow((middle, top + 2 * TITLE + 2), (middle, y))

    def _jump(self, pen: Pen, jump: Jump, middle: float, top: float) -> None:
        x = middle - self.box / 2 - LANE * (jump.lane + 1) + 1
        begin = 2 * TITLE + 2 if jump.start == INPUT else self.tops[jump.start] + BOX
        end = self.tops[jump.end] + BOX / 2
        start = begin + GAP / 2
        pen.arrow((middle, top + start), (x, top + start), (x, top + end), (middle - self.box / 2, top + end))


def _weight_counts(subject: Subject, steps: Sequence[Step]) -> Iterator[str]:
    """Beside each step the numbers in its weights; those of an earlier step are not counted again."""
    counted: set[str] = set()
    for step in steps:
        new = subject.count(step, counted)
        counted.update(weight for leaf in step.leaves() for weight in leaf.weights)
        yield f"{new:,}" if new else "the same" if step.weights else ""


def _shape_change(made: str, read: str) -> str:
    return made if made == read else f"{made} → {read}"


def label(step: Step, sizes: Sizes) -> str:
    """`first: Linear` of a module; of an operation its word, with the weights and constants that it uses."""
    name = step.path.rpartition(".")[2]
    if step.title[0].isupper():
        name = ".".join(step.path.split(".")[-2:]) if name.isdigit() else name
        return f"{name}: {step.title}"
    used = [weight.rpartition(".")[0].rpartition(".")[2] or weight for weight in dict.fromkeys(step.weights)]
    fixed = [f"fixed {sizes.name_shape(one)}" if isinstance(one, tuple) else f"{one:g}" for one in step.fixed]
    return " ".join([WORDS.get(step.title, step.title), *([", ".join(used)] if used else []), *fixed])


def is_input(rows: Rows, reader: int, maker: int) -> bool:
    """Is what one row makes an input of another?"""
    return any(rows.row[number] == maker for number, _ in rows.steps[reader].reads)


def jumps(rows: Rows) -> list[Jump]:
    """Every read that is not of the row just above, each on a lane of its own where it passes others."""
    found = [
        Jump(maker, row)
        for row, step in enumerate(rows.steps)
        for maker in sorted({rows.row[number] for number, _ in step.reads})
        if maker < row - 1
    ]
    found.sort(key=lambda jump: jump.end - jump.start)
    for place, jump in enumerate(found):
        taken = {other.lane for other in found[:place] if other.start < jump.end and jump.start < other.end}
        jump.lane = min(set(range(len(found))) - taken)
    return found
