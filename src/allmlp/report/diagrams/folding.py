"""The rows of a diagram: the steps of a model in their order, equal blocks folded to the first of them."""

from dataclasses import dataclass, field

from allmlp.report.diagrams.tracing import INPUT, Step

CONTAINERS = ("Sequential", "ModuleList")  # they do nothing but hold modules


@dataclass
class Frame:
    """An open module around rows `first` to `last`, which runs `times` times."""

    step: Step
    times: int
    depth: int
    first: int
    last: int


@dataclass
class Rows:
    """`steps`: a row each. `frames`: outer ones first. `row`: step number -> the row that shows it."""

    steps: list[Step] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    row: dict[int, int] = field(default_factory=lambda: {INPUT: INPUT})

    @classmethod
    def from_model(cls, root: Step) -> "Rows":
        """The rows of a model."""
        rows = cls()
        rows._add(root.children, 0)
        return rows

    def _add(self, children: list[Step], depth: int) -> None:
        for alike in fold_steps(children):
            begin, step, times = len(self.steps), alike[0], len(alike)
            if not step.children:
                self.steps.append(step)
                self.times.append(times)
                self.row |= {one.number: begin for one in alike}
                continue
            framed = step.title not in CONTAINERS
            frame = Frame(step, times, depth, begin, begin)
            self.frames += [frame] if framed else []
            self._add(step.children, depth + framed)
            frame.last = len(self.steps) - 1
            first = [leaf.number for leaf in step.leaves()]
            for other in alike[1:]:
                shown = zip((leaf.number for leaf in other.leaves()), first, strict=True)
                self.row |= {number: self.row[of_first] for number, of_first in shown}


def fold_steps(steps: list[Step]) -> list[list[Step]]:
    """Neighbours that do the same, together. Operations that follow one another are never the same step."""
    found: list[list[Step]] = []
    for step in steps:
        if found and step.children and is_alike(found[-1][0], step):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def is_alike(one: Step, other: Step) -> bool:
    """Do both do the same, with inputs from as many steps before?"""
    return (
        _looks(one) == _looks(other)
        and len(one.children) == len(other.children)
        and all(map(is_alike, one.children, other.children))
    )


def _looks(step: Step) -> tuple[object, ...]:
    reads = [(step.number - maker, shape) for maker, shape in step.reads]
    return step.title, step.shape, len(step.weights), reads
