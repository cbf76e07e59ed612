"""A diagram shows the modules that ran, in their order, with their shapes and weights, and who reads whom."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from allmlp import models
from allmlp.common import recipes
from allmlp.judging import evidence
from allmlp.models.backbone import Block
from allmlp.models.causal_rn import CausalRelation
from allmlp.models.constant_attention import ConstantAttention
from allmlp.models.dct import DCTHeads
from allmlp.models.layers import FeedForward
from allmlp.models.masked_mixing import Mixing
from allmlp.models.mlp import LastTokenMLP
from allmlp.models.sliding_dct import SlidingDCT
from allmlp.models.triangular import Triangular, TriangularBlock, TriangularMixing, averaging_mask
from allmlp.report import first_screen
from allmlp.report.diagrams.board import Squares
from allmlp.report.diagrams.column import Column, jumps
from allmlp.report.diagrams.folding import Rows
from allmlp.report.diagrams.reach import reach
from allmlp.report.diagrams.sizes import Letter, Sizes
from allmlp.report.diagrams.subject import Subject, subject, tokens
from allmlp.report.diagrams.tracing import INPUT, Step, trace
from allmlp.spec import catalogue, exhibits

LETTERS = {
    "B": Letter("sequences", 17),
    "T": Letter("tokens", 5, 34),
    "D": Letter("features", 8, 192),
    "V": Letter("tokens of the vocabulary", 13, 29),
}
NAMED = {"vocabulary": "V", "context": "T", "d_model": "D"}
SMALL: dict[str, dict[str, Any]] = {
    "mlp": {"d_mlp": 11},
    "gpt2": {"n_blocks": 2, "n_heads": 2},
    "dct-mlp": {"n_blocks": 3, "n_heads": 2},
    "masked-mixer": {"n_blocks": 2, "kernel": 2},
    "causal-rn": {"n_blocks": 2},
    "linear-causal-rn": {"n_blocks": 2},
    "hybrid": {"n_blocks": 2},
    "triangular": {"n_blocks": 3},
}
WIDEST = 466  # points: wider, and the smallest letters would be below 9 pixels in a column of the page
DIAGRAMS = [
    (study, name)
    for study in catalogue.STUDIES
    for name, exhibit in exhibits.study_exhibits(study, "figures").items()
    if not exhibit.measures
]


def model_of(name: str) -> nn.Module:
    torch.manual_seed(0)
    return models.build(name, vocabulary=13, context=5, d_model=8, **SMALL[name])


def drawn(name: str, **changed: Any) -> Subject:
    return subject(models.load(name), {**NAMED, **SMALL[name], **changed}, LETTERS, tokens, closed=(SlidingDCT,))


def called(model: nn.Module, given: Tensor) -> list[tuple[str, str, tuple[int, ...]]]:
    """(path, class, shape of the output) of each call of a module without children, by hooks of our own."""
    found, inside = [], 0

    def before(module: nn.Module, _: Any) -> None:
        nonlocal inside
        inside += isinstance(module, SlidingDCT)

    def after(module: nn.Module, _: Any, output: Tensor) -> None:
        nonlocal inside
        inside -= isinstance(module, SlidingDCT)
        if not inside and (isinstance(module, SlidingDCT) or not list(module.children())):
            found.append((paths[module], type(module).__name__, tuple(output.shape)))

    paths = {module: path for path, module in model.named_modules() if not isinstance(module, nn.Identity)}
    for module in paths:
        module.register_forward_pre_hook(before)
        module.register_forward_hook(after)
    model(given)
    return found


def operations(step: Step) -> Iterator[Step]:
    return (leaf for leaf in step.leaves() if leaf.title[0].islower())


@pytest.mark.parametrize("name", SMALL)
def test_its_steps_are_the_modules_that_ran_in_their_order_with_their_shapes(name: str) -> None:
    given = torch.zeros(3, 5, dtype=torch.int64)
    traced = trace(model_of(name), given, closed=(SlidingDCT,))
    of_modules = [(leaf.path, leaf.title, leaf.shape) for leaf in traced.leaves() if leaf.title[0].isupper()]
    assert of_modules == called(model_of(name), given)
    assert [leaf.number for leaf in traced.leaves()] == list(range(len(list(traced.leaves()))))


@pytest.mark.parametrize("name", SMALL)
def test_the_weights_of_its_steps_are_all_weights_of_the_model_at_the_papers_sizes(name: str) -> None:
    found = drawn(name)
    real = {"vocabulary": 29, "context": 34, "d_model": 192, **SMALL[name]}
    assert found.unused_parameters() == []
    assert sum(map(found.count, found.step.leaves())) == sum(w.numel() for w in models.build(name, **real).parameters())


def test_weights_that_two_boxes_share_have_their_number_at_the_first() -> None:
    letters = {**LETTERS, "T": Letter("tokens", 2, 2), "D": Letter("features", 20, 192), "M": Letter("neurons", 11, 64)}
    named = {**NAMED, "n_heads": 4, "d_mlp": "M"}

    def logits(model: Any) -> Any:
        return lambda pairs_B2: model.hidden(pairs_B2) @ model.W_U

    column = Column(subject(ConstantAttention, named, letters, tokens, run=logits), "constant-attention", "x and y")
    assert column.counts.count("the same") == 1
    numbers = [int(count.replace(",", "")) for count in column.counts if count not in ("", "the same")]
    unused = sum(column.subject.weights[name] for name in column.subject.unused_parameters())
    assert sum(numbers) + unused == sum(column.subject.weights.values())


def test_known_numbers_of_weights_and_known_shapes() -> None:
    said = {name: text(study, name) for study, name in DIAGRAMS}
    assert "36,297,036 weights" in said["model_diagram"]  # 004-1
    assert f"{37_589_504 + 2 * 50_257 * 512:,} weights" in said["mlp_diagram"]
    assert "1,349,376 weights" in said["causal_rn_diagram"]  # 002-10, with the embeddings
    assert "212,608 weights, of which W_Q and W_K take no part" in said["network_diagram"]
    assert "embedding: Embedding (B, T, D) → (B, T D); first: Linear (B, D)" in said["mlp_diagram"]
    assert "triangles.0: Triangle (T, T); triangles.1: Triangle (T, T); matrix product (T, T)" in said["model_diagram"]
    assert "17 times TriangularBlock" in said["model_diagram"]


def test_a_residual_connection_reads_the_block_and_its_branch() -> None:
    block = Block(Mixing(8, 5), FeedForward(8, 16), lambda: nn.LayerNorm(8))
    traced = trace(block, torch.zeros(1, 5, 8))
    titles = [leaf.title for leaf in traced.leaves()]
    assert titles == ["LayerNorm", "TokenWeights", "add", "LayerNorm", "Linear", "gelu", "Linear", "add"]
    first, second = (leaf for leaf in traced.leaves() if leaf.title == "add")
    assert [maker for maker, _ in first.reads] == [INPUT, 1]
    assert [maker for maker, _ in second.reads] == [2, 6]
    rows = Rows.from_model(traced)
    assert {(jump.start, jump.end) for jump in jumps(rows)} == {(INPUT, 2), (2, 7)}


def test_equal_blocks_are_folded_and_others_are_not() -> None:
    rows = Column(drawn("triangular"), "", "tokens").rows
    assert [(frame.step.title, frame.times) for frame in rows.frames] == [
        ("TriangularBlock", 3),
        ("TriangularMixing", 1),
    ]
    model = model_of("triangular")
    assert isinstance(model, Triangular)
    second = model.blocks[1]
    assert isinstance(second, TriangularBlock)
    second.activation = torch.relu
    traced = trace(model, torch.zeros(1, 5, dtype=torch.int64))
    blocks = [frame.times for frame in Rows.from_model(traced).frames if frame.step.title == "TriangularBlock"]
    assert blocks == [1, 1, 1]
    last = Rows.from_model(drawn("triangular").step)
    assert last.steps[last.row[last.steps[-2].reads[0][0]]].title == "add", "the final norm reads the last drawn step"


class Doubled(LastTokenMLP):
    """The MLP with one more step."""

    def forward(self, tokens_BT: Tensor) -> Tensor:
        return 2 * super().forward(tokens_BT)


def test_a_changed_model_changes_its_diagram() -> None:
    def said(found: Subject) -> str:
        return Column(found, "", "tokens").description()

    named = {**NAMED, **SMALL["mlp"]}
    assert said(subject(Doubled, named, LETTERS, tokens)) == said(drawn("mlp"))[:-1] + "; × 2 (B, V)."
    assert said(drawn("triangular", layers=1)) != said(drawn("triangular"))
    assert "gelu" in said(drawn("triangular", activation="gelu"))
    assert said(drawn("mlp", n_blocks=3)).replace("3 times", "2 times") == said(drawn("mlp"))


@pytest.mark.parametrize(("study", "architecture"), [("language", "mlp"), ("triangular", "triangular")])
def test_the_file_of_a_model_is_behind_its_diagram(study: str, architecture: str) -> None:
    """So a changed file draws the diagram again."""
    assert f"allmlp.models.{architecture}" in recipes.sources(f"allmlp.studies.{study}.figures.diagrams")


@pytest.mark.parametrize(
    "mixer",
    [
        Mixing(8, 8),
        Mixing(8, 8, kernel=4),
        Mixing(8, 8, expansion=2.0),
        Mixing(8, 8, n_heads=2),
        TriangularMixing(8, 8),
        CausalRelation(8, 8),
        CausalRelation(8, 8, pre_norm="approximate"),
        DCTHeads(8, 8, n_heads=2, frequencies=2),
    ],
    ids=lambda mixer: type(mixer).__name__,
)
def test_what_reaches_a_token_is_the_lower_triangle_for_a_causal_mixer(mixer: nn.Module) -> None:
    assert reach(mixer, 8, 8).tolist() == np.tri(8, dtype=bool).tolist()


def test_everything_reaches_a_token_without_a_mask_and_only_itself_without_mixing() -> None:
    assert reach(Mixing(8, 8, causal=False), 8, 8).all()
    assert reach(nn.Linear(8, 8), 8, 8).tolist() == np.eye(8, dtype=bool).tolist()


def test_the_averaging_mask_is_shown_in_fractions() -> None:
    assert averaging_mask(2).tolist() == [[1.0, 0.0], [0.5, 0.5]]
    texts = labels(figure("triangular", "averaging_mask_diagram"))
    assert [text for text in texts if re.fullmatch(r"[\d/]+", text)][:6] == ["1", "1/2", "1/2", "1/3", "1/3", "1/3"]


def test_squares_are_said_row_by_row() -> None:
    found = Squares(np.array([[True, False, True], [True, True, True]]), "seen\nby two")
    assert found.description() == "seen by two, output t ↓  input s →: 1: 1, 3; 2: 1 to 3."


def test_a_size_that_may_be_two_things_is_refused() -> None:
    sizes = Sizes({"A": Letter("a", 2), "B": Letter("b", 6), "C": Letter("c", 7)})
    assert sizes.name_shape((2, 6, 7, 42, 1, 100)) == "(A, B, C, B C, 1, 100)"
    with pytest.raises(ValueError, match="may be 2 C or A C"):
        sizes.name_shape((14,))
    with pytest.raises(ValueError, match="the same number"):
        Sizes({"A": Letter("a", 2), "B": Letter("b", 2)})


def figure(study: str, name: str) -> Figure:
    made: Figure = exhibits.study_exhibits(study, "figures")[name]()
    return made


def text(study: str, name: str) -> str:
    return str(figure(study, name).axes[0].get_label())


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize(("study", "name"), DIAGRAMS)
def test_a_diagram_is_readable_and_needs_no_run(study: str, name: str) -> None:
    found = figure(study, name)
    (axes,) = found.axes
    assert 72 * found.get_figwidth() <= WIDEST
    assert min(float(text.get_fontsize()) for text in axes.texts) >= 7.5
    found.canvas.draw()
    for box in (text.get_window_extent() for text in axes.texts):
        assert 0 <= box.x0 <= box.x1 <= found.bbox.width
        assert 0 <= box.y0 <= box.y1 <= found.bbox.height
    exhibit = exhibits.study_exhibits(study, "figures")[name]
    assert list(evidence.sources(study, exhibit, {"studies": {}})) == [""]
    assert exhibit.where, "it is a figure of the paper"


def test_diagrams_come_first_in_the_order_of_the_paper() -> None:
    measured = {"runs": 3, "paper": "Figure 1", "claims": ["000-1"], "name": "a"}
    second = {"runs": 0, "paper": "Figure 2", "claims": ["000-14"], "name": "c"}
    eighth = {"runs": 0, "paper": "Figure 8", "claims": ["000-13"], "name": "b"}
    unnumbered = {"runs": 0, "paper": "Drawing", "claims": ["000-1"], "name": "d"}
    found = first_screen.order_exhibits([measured, unnumbered, eighth, second], ["000-1", "000-13", "000-14"])
    assert found == [second, eighth, unnumbered, measured]
