"""Figures of the runs on text and images: learning, and what the class token gathers (002-7 to 002-9)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.names import display
from allmlp.report.seeds import curve
from allmlp.spec.exhibits import figure
from allmlp.studies.copying.parts import central_patches

FIRST_OF_END = 0.2  # the second panel begins at this share of the steps
STYLES = ("o-", "s--", "^-.")  # lines may lie upon each other


@figure("Learning text by characters", where="Figure 6, left", claims=["002-7", "002-own-2"], parts=["text"])
def text_curves(text_curve: pd.DataFrame) -> Figure:
    """Loss on held-out documents in bits per byte of text against training steps: the whole training, and its end
    enlarged; mean over seeds and 95 % t interval, paired between models, which see the same batches. Faint: the loss of
    each training batch before its update, mean over seeds. If the text is drawn from a grammar, the black dotted line
    is its exact entropy, a lower bound for every model. All models have the same width and the same number of blocks;
    if the relation is as wide as the others' feed-forward layer, as in the paper, they also have nearly the same number
    of weights. The paper shows a drawing without numbers of training losses on WikiText-103, so there is no grey mark.
    """
    return _text(text_curve)


@figure("Learning novels by characters", claims=["002-own-5"], parts=["novels"])
def novel_curves(text_curve: pd.DataFrame) -> Figure:
    """Loss on held-out passages of 26 English novels in bits per byte against training steps: the whole training, and
    its end enlarged; mean over seeds and 95 % t interval. Faint: the loss of each training batch before its update. No
    window of text is read twice. The models have half the paper's width and half its blocks, all the same number of
    weights.
    """
    return _text(text_curve)


def _text(text_curve: pd.DataFrame) -> Figure:
    last = float(text_curve["step"].max())
    figure, ((whole, end),) = style.canvas(columns=2, height=3.2)
    for panel in (whole, end):
        _panel(panel, text_curve)
    plots.steps(whole, last)
    whole.set(ylim=(0, None), ylabel="loss (bits per byte)", title=", ".join(sorted(text_curve["corpus"].unique())))
    end.set_xlim(FIRST_OF_END * last, 1.02 * last)
    shown = text_curve.loc[text_curve["step"] >= FIRST_OF_END * last, "validation_bits_per_byte"]
    end.set(ylim=(0.97 * shown.min(), 1.03 * shown.max()), title="its end", xlabel="training step")
    plots.add_legend(figure, [whole], ncols=4)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    for position, (model, colour, of_model) in enumerate(plots.group_by_model(rows)):
        batches = curve(of_model, "training_bits_per_byte")
        axes.plot(batches["step"], batches["mean"], color=colour, alpha=0.3, linewidth=0.6)
        held_out = curve(of_model, "validation_bits_per_byte")
        plots.bars(axes, held_out, fmt=STYLES[position % len(STYLES)], color=colour, label=display(model))
    plots.floors(axes, rows["floor_bits_per_byte"], "entropy of the grammar")


PANELS = {  # column of the test split -> column of the batch, and their name
    "test_nats": ("loss_nats", "loss (nats)"),
    "test_accuracy_1": ("accuracy_1", "accuracy"),
}
SMOOTHED = 9  # logged steps averaged in the faint line


@figure("Learning to classify images", where="Figure 7", claims=["002-8", "002-own-3"], parts=["images"])
def image_curves(image_curve: pd.DataFrame) -> Figure:
    """Loss and accuracy on held-out images against training steps, mean over seeds and 95 % t interval, paired between
    models, which see the same batches. Faint: each training batch before its update, mean over seeds; the paper draws
    these alone, and visits every image once. A line ends where one of its seeds diverged. The paper shows CIFAR-5m as a
    drawing without numbers, so there is no grey mark.
    """
    return _images(image_curve)


@figure("Learning to classify photographs", claims=["002-own-6"], parts=["photographs"])
def photograph_curves(image_curve: pd.DataFrame) -> Figure:
    """Loss and accuracy on the 10,000 test photographs of CIFAR-10 against training steps, mean over seeds and 95 % t
    interval. Faint: each training batch before its update. Each of the 50,000 training photographs is visited six
    times.
    """
    return _images(image_curve)


def _images(image_curve: pd.DataFrame) -> Figure:
    figure, axes = style.canvas(columns=len(PANELS), height=3.2)
    for axis, (tested, (trained, label)) in zip(axes[0], PANELS.items(), strict=True):
        for model, colour, rows in plots.group_by_model(image_curve):
            batches = curve(rows, trained)
            smooth = batches["mean"].rolling(SMOOTHED, center=True, min_periods=1).mean()
            axis.plot(batches["step"], smooth, color=colour, alpha=0.3, linewidth=0.8)
            plots.bars(axis, curve(rows, tested), fmt="o-", color=colour, elinewidth=0.8, label=display(model))
        plots.steps(axis, image_curve["step"].max())
        axis.set(ylim=(0, None if tested == "test_nats" else 1.02), ylabel=label)
    axes[0, 0].set_title(", ".join(sorted(image_curve["corpus"].unique())))
    plots.add_legend(figure, axes[0], ncols=2)
    return figure


@figure("What the class token gathers", where="Figure 8", claims=["002-9"], parts=["images"])
def heat_maps(heat_maps: pd.DataFrame) -> Figure:
    """Images of the test split, drawn at random once, and the heat of their patches in one seed:
    the norm over features of exp(a_CLS + b_i), as the layer forms it with all its normalisations, over the image's sum;
    black is no heat, the palest patch the image's largest. Dashed: the middle of the image; its share of the area is
    printed beside the images, its share of the heat under each map. The published code leaves out the normalisation of
    the layer's input, and the paper shows selected images.
    """
    return _heat(heat_maps)


@figure("What the class token gathers from photographs", claims=["002-own-7"], parts=["photographs"])
def photograph_heat(heat_maps: pd.DataFrame) -> Figure:
    """Test photographs of CIFAR-10, drawn at random once, and the heat of their patches in one seed: the norm over
    features of exp(a_CLS + b_i) in the sixth and last layer, over the photograph's sum; black is no heat, the palest
    patch the photograph's largest. Dashed: the middle; its shares of the area and of the heat are printed.
    """
    return _heat(heat_maps)


def _heat(heat_maps: pd.DataFrame) -> Figure:
    rows = heat_maps[heat_maps["seed"] == heat_maps["seed"].min()]
    models, images = sorted(rows["model"].unique()), sorted(rows["image"].unique())
    figure, axes = style.canvas(columns=len(images), rows=1 + len(models), height=1.35)
    for across, image in enumerate(images):
        of_image = rows[rows["image"] == image]
        axes[0, across].imshow(_image(of_image[of_image["model"] == models[0]]), cmap="gray", interpolation="nearest")
        axes[0, across].set_title(f"class {of_image['label'].iloc[0]}", fontsize=8)
        for down, model in enumerate(models, 1):
            _map(axes[down, across], of_image[of_image["model"] == model])
    for axis in axes.ravel():
        plots.clear_axis(axis, frame=False)
    shape = rows["patch_row"].max() + 1, rows["patch_column"].max() + 1
    for down, model in enumerate(models, 1):
        layer = rows.loc[rows["model"] == model, "layer"].iloc[0]
        axes[down, 0].set_ylabel(f"{display(model)}\nlayer {layer}", fontsize=8)
    axes[0, 0].set_ylabel(
        f"{rows['corpus'].iloc[0]}\nmiddle: {central_patches(*shape).mean():.2f}\nof the area", fontsize=8
    )
    return figure


def _image(rows: pd.DataFrame) -> np.ndarray:
    """One image's pixels from those of its patches: (height, width) or (height, width, 3) uint8."""
    R, C, channels = rows["patch_row"].max() + 1, rows["patch_column"].max() + 1, int(rows["channels"].iloc[0])
    texts = rows.sort_values(["patch_row", "patch_column"])["pixels"]
    values = np.stack([np.frombuffer(bytes.fromhex(text), np.uint8) for text in texts])
    patch = round((values.shape[1] / channels) ** 0.5)
    image = values.reshape(R, C, patch, patch, channels).transpose(0, 2, 1, 3, 4)
    image = image.reshape(R * patch, C * patch, channels)
    return image[..., 0] if channels == 1 else image


def _map(axes: Axes, rows: pd.DataFrame) -> None:
    heat_RC = rows.pivot(index="patch_row", columns="patch_column", values="heat_1").to_numpy()
    axes.imshow(style.shades(heat_RC), cmap="inferno", vmin=0, interpolation="nearest")
    inside = central_patches(*heat_RC.shape)
    top, left = (int(np.argmax(inside.any(axis))) for axis in (1, 0))
    bottom, right = top + int(inside.any(1).sum()), left + int(inside.any(0).sum())
    corners = ([left, right, right, left, left], [top, top, bottom, bottom, top])
    axes.plot(*(np.array(ends) - 0.5 for ends in corners), color="white", linestyle="--", linewidth=0.8)
    axes.set_xlabel(f"{heat_RC[inside].sum():.2f}", fontsize=8)
