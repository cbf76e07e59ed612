"""Figures of properties of models: memory, how much of the input they keep, the speed of generation."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.names import display
from allmlp.report.seeds import aggregate_seeds
from allmlp.spec.exhibits import Paper, figure
from allmlp.studies.mixers.drawing import looks
from allmlp.studies.mixers.parts import base_rows
from allmlp.studies.mixers.verdicts.formulae import FUSED, MIB, MIXER, TRANSFORMER, printed_table

LINES: dict[str, dict[str, Any]] = {
    MIXER: {"color": style.colour("flat")},
    TRANSFORMER: {"color": style.colour("llama-4")},
    FUSED: {"color": style.colour("llama-4"), "linestyle": (0, (2, 1.5))},
}
GB = 10**9  # bytes
PRINTED = {"001-13": ("o", "paper: flat mixer"), "001-14": ("s", "paper: transformer")}


@figure("Memory against context", where="Scaling Properties, memory tables", claims=["001-13", "001-14", "001-own-11"])
def memory(memory: pd.DataFrame, paper: Paper) -> Figure:
    """One sequence through models of the paper's width and back, without the head, in float32. Lines: a lower bound for
    every implementation, counted byte by byte without a device: weights, their gradients, and what the forward pass
    keeps for the backward pass. Coloured crosses: the peak on a device, if the runs had one. Grey: the paper's numbers,
    which include the driver's share; it prints none that its GPU could not hold. Fused attention, which the paper's
    tables leave out, keeps nothing of the size of the context squared.
    """
    rows = memory.drop_duplicates(["model", "n_blocks", "context"])
    depths = sorted(rows["n_blocks"].unique())
    figure, axes = style.canvas(columns=len(depths), height=3.0)
    for axis, n_blocks in zip(axes[0], depths, strict=True):
        for model, look in LINES.items():
            of_model = rows[rows["n_blocks"].eq(n_blocks) & rows["model"].eq(model)].sort_values(
                "context", kind="stable"
            )
            axis.plot(of_model["context"], of_model["total_bytes"] / GB, marker=".", label=model, **look)
            axis.scatter(of_model["context"], of_model["peak_bytes"] / GB, marker="x", s=22, color=look["color"])
        _draw_printed(axis, paper, int(n_blocks))
        plots.ticks(axis, sorted(rows["context"].unique()), base=2, form="{:,}".format, rotation=30)
        axis.set(yscale="log", title=f"{n_blocks} layers", xlabel="context (tokens)")
    bottom, top = min(axis.get_ylim()[0] for axis in axes[0]), max(axis.get_ylim()[1] for axis in axes[0])
    for axis in axes[0]:
        axis.set_ylim(bottom, top)
    axes[0, 0].set_ylabel("memory (GB)")
    plots.add_legend(figure, axes[0, :1], ncols=3)
    return figure


def _draw_printed(axis: Axes, paper: Paper, n_blocks: int) -> None:
    for claim, (marker, label) in PRINTED.items():
        table = printed_table(paper[claim])
        of_depth = table[table.index.get_level_values(0) == n_blocks]
        looks: dict[str, Any] = {"s": 18, "marker": marker, "facecolor": "none", "edgecolor": style.PAPER}
        axis.scatter(of_depth.index.get_level_values(1), of_depth * MIB / GB, label=label, **looks)


WAYS_BACK = {"self": "the whole layer", "non-self": "later positions only"}


LITTLE = 0.05  # a share that would lie on the axis


@figure(
    "What the last hidden layer gives back",
    where="Language Mixer Basics",
    claims=["001-28", "001-own-9", "001-own-10"],
    values={"little": LITTLE},
)
def recovery(recovery: pd.DataFrame) -> Figure:
    """Share of a text's tokens recovered by descent on its embeddings until the last hidden layer of a model in
    training matches, from the whole layer; and for the first half of the text, from the layer at the positions of the
    second half, so that only what is passed between tokens counts (no panel if it is below {little:.0%} everywhere).
    Mean over seeds and 95 % t interval, at the best of a few rates for each model, chosen on other texts. Diamonds: a
    search over tokens, one after the other, in place of descent; it separates lost tokens from tokens that descent does
    not find. Tokens are read off as in the paper; the table gives the loss of this step even with the true embeddings,
    and untrained models of other sizes. The axis is not to scale: models are read at the start and late in training.
    """
    rows = training_rows(recovery)
    rows = rows.assign(done=rows["step"] / rows.groupby("run")["step"].transform("max"))
    done = sorted(rows["done"].unique())
    rows["place"] = rows["done"].map(done.index)
    of_ways = {way: rows[rows["way"].eq(way) & rows["rates"].eq("searched")] for way in WAYS_BACK}
    means = {way: of_way.groupby(["variant", "done"])["recovered_1"].mean().max() for way, of_way in of_ways.items()}
    shown = [way for way in WAYS_BACK if means[way] >= LITTLE]
    figure, axes = style.canvas(columns=max(1, len(shown)), height=2.8, width=7.0 if len(shown) > 1 else 5.0)
    for axis, way in zip(axes[0], shown, strict=False):
        _lines(axis, of_ways[way])
        axis.set_xticks(range(len(done)), [f"{part:.0%}" for part in done])
        axis.set(title=WAYS_BACK[way], xlabel="share of the training that is done", ylim=(0, 1.05))
    _draw_search(axes[0, 0], rows)
    axes[0, 0].set_ylabel("share of tokens")
    few = [f"{name} (at most {means[way]:.3f})" for way, name in WAYS_BACK.items() if way not in shown]
    if few:
        figure.suptitle(f"Not drawn: {'; '.join(few)}.", fontsize=8, x=0.01, ha="left")
    plots.add_legend(figure, axes[0, :1], ncols=3)
    return figure


def _lines(axis: Axes, rows: pd.DataFrame) -> None:
    for variant, of_variant in rows.groupby("variant", sort=True):
        shares = aggregate_seeds(of_variant, ["place"], "recovered_1")
        shares["high"] = shares["high"].fillna(shares["mean"])  # one seed: a bar of no length
        plots.bars(axis, shares, "place", label=display(str(variant)), **looks(str(variant)))


def _draw_search(axis: Axes, rows: pd.DataFrame) -> None:
    last = rows[rows["way"].eq("search") & rows["step"].eq(rows.groupby("run")["step"].transform("max"))]
    for variant, of_variant in last.groupby("variant", sort=True):
        x, y = of_variant["place"].mean(), of_variant["recovered_1"].mean()
        axis.scatter(x, y, s=26, marker="D", facecolor="none", edgecolor=style.colour(str(variant)), zorder=3)
    if len(last):
        axis.scatter([], [], s=26, marker="D", facecolor="none", edgecolor="black", label="search over tokens")


def training_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of runs that train a model of the base size."""
    base = base_rows(rows)
    return base[base.groupby("run")["step"].transform("max").gt(0)]


WAYS = {"step_tokens_per_s": ("a step", "-"), "pass_tokens_per_s": ("a full pass", (0, (3, 2)))}


@figure("Speed of generation", where="Mixer Inference", claims=["001-29"], parts=["speed"])
def generation_speed(generation_speed: pd.DataFrame) -> Figure:
    """Tokens per second when continuing one sequence of that length, on one machine: solid with a memory of the tokens
    before (O(t d + d^2) per token and layer), dashed by a full pass over all of them, as in the paper. The weights are
    untrained, because their values do not change the time. Seconds hold for this machine only.
    """
    rows = generation_speed
    figure, ((axis,),) = style.canvas(height=2.8, width=5.5)
    for model, shade, of_model in plots.group_by_model(rows):
        for column, (way, line) in WAYS.items():
            means = of_model.groupby("length")[column].mean()
            axis.plot(means.index, means, color=shade, linestyle=line, marker=".", label=f"{display(model)}, {way}")
    plots.ticks(axis, sorted(rows["length"].unique()), base=2)
    axis.set_yscale("log")
    first = rows.iloc[0]
    axis.set(xlabel=f"tokens read (width {first['d_model']}, {first['n_blocks']} layers)", ylabel="tokens per second")
    axis.legend()
    return figure
