"""Figures of the runs on images: learning, and what the class token gathers (002-8, 002-9)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from allmlp.report import plots, style
from allmlp.report.exhibits import figure
from allmlp.studies.copying.centre import central
from allmlp.studies.seeds import curve

PANELS = {  # column of the test split -> column of the batch, and their name
    "test_nats": ("loss_nats", "loss (nats)"),
    "test_accuracy_1": ("accuracy_1", "accuracy"),
}
SMOOTHED = 9  # logged steps averaged in the faint line


@figure("Learning to classify images", where="Figure 7", claims=["002-8", "002-own-3"])
def image_curves(image_curve: pd.DataFrame) -> Figure:
    """Loss and accuracy on held-out images against training steps, mean over seeds and 95 % t interval, paired between
    models, which see the same batches. Faint: each training batch before its update, mean over seeds; the paper draws
    these alone, and visits every image once. A line ends where one of its seeds diverged. The paper shows CIFAR-5m as a
    drawing without numbers, so there is no grey mark.
    """
    figure, axes = style.canvas(columns=len(PANELS), height=3.2)
    for axis, (tested, (trained, label)) in zip(axes[0], PANELS.items(), strict=True):
        for model, colour, rows in plots.by_model(image_curve):
            batches = curve(rows, trained)
            smooth = batches["mean"].rolling(SMOOTHED, center=True, min_periods=1).mean()
            axis.plot(batches["step"], smooth, color=colour, alpha=0.3, linewidth=0.8)
            plots.bars(axis, curve(rows, tested), fmt="o-", color=colour, elinewidth=0.8, label=model)
        plots.steps(axis, image_curve["step"].max())
        axis.set_ylim(bottom=0, top=None if tested == "test_nats" else 1.02)
        axis.set_ylabel(label)
    axes[0, 0].set_title(", ".join(sorted(image_curve["corpus"].unique())))
    plots.legend_below(figure, axes[0], ncols=2)
    return figure


@figure("What the class token gathers", where="Figure 8", claims=["002-9"])
def heat_maps(heat_maps: pd.DataFrame) -> Figure:
    """Images of the test split, drawn at random once, and the heat of their patches in one seed:
    the norm over features of exp(a_CLS + b_i), as the layer forms it with all its normalisations, over the image's sum;
    black is no heat, the palest patch the image's largest. Dashed: the middle of the image; its share of the area is
    printed beside the images, its share of the heat under each map. The published code leaves out the normalisation of
    the layer's input, and the paper shows selected images.
    """
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
        plots.bare(axis, frame=False)
    shape = rows["patch_row"].max() + 1, rows["patch_column"].max() + 1
    for down, model in enumerate(models, 1):
        layer = rows.loc[rows["model"] == model, "layer"].iloc[0]
        axes[down, 0].set_ylabel(f"{model}\nlayer {layer}", fontsize=8)
    axes[0, 0].set_ylabel(f"{rows['corpus'].iloc[0]}\nmiddle: {central(*shape).mean():.2f}\nof the area", fontsize=8)
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
    inside = central(*heat_RC.shape)
    top, left = (int(np.argmax(inside.any(axis))) for axis in (1, 0))
    bottom, right = top + int(inside.any(1).sum()), left + int(inside.any(0).sum())
    corners = ([left, right, right, left, left], [top, top, bottom, bottom, top])
    axes.plot(*(np.array(ends) - 0.5 for ends in corners), color="white", linestyle="--", linewidth=0.8)
    axes.set_xlabel(f"{heat_RC[inside].sum():.2f}", fontsize=8)
