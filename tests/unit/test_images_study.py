"""Study 002's images: curves with test losses, heat that is what the layer forms, the rules of claims.yaml, figures."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from allmlp import models
from allmlp.common.errors import UserError
from allmlp.judging.rules import NotPlannedError
from allmlp.report import style
from allmlp.studies.copying.figures import trainings as image_figures
from allmlp.studies.copying.measures.images import DRAWN, heat, heat_maps, heat_shares, image_curve
from allmlp.studies.copying.parts import central_patches
from allmlp.studies.copying.runs.trainings import OF_EVERY_IMAGE_RUN, OF_RELATIONS, RELATIONS
from allmlp.studies.copying.tables import image_ends
from allmlp.training.checkpoint import produce
from allmlp.training.published import TrainedRun
from tests import judging, tiny
from tests.tensors import ln0
from tests.unit.known_copying import OF_IMAGES, images
from tests.unit.known_copying import heat as heat_of


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterable[dict[str, TrainedRun]]:
    """Tiny runs of two networks, trained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("images"))
        tiny.write_images(Path.cwd())
        runs = [tiny.run(name, labels={"model": name, "corpus": "tiny"}) for name in ("birn", "linear-birn")]
        for run in runs:
            produce(run)
        yield {run.architecture: TrainedRun(run) for run in runs}


def labelled(rows: pd.DataFrame, model: str, seed: int = 0) -> pd.DataFrame:
    return rows.assign(run=f"{model}-{seed}", seed=seed, model=model, corpus="digits")


def test_the_curve_has_a_test_loss_where_weights_were_kept(trained: dict[str, TrainedRun]) -> None:
    run = trained["birn"]
    rows = image_curve(run)
    assert rows["step"].tolist() == list(range(13))
    assert rows.loc[rows["test_nats"].notna(), "step"].tolist() == [0, 6, 12]
    assert rows["loss_nats"].iloc[:-1].tolist() == run.log["loss"].tolist()
    logged = run.log.set_index("step")["validation_loss"].dropna()
    assert rows.set_index("step")["test_nats"].loc[[0, 6]].tolist() == pytest.approx(logged.tolist(), rel=1e-5)
    assert rows["test_nats"].iloc[-1] == pytest.approx(run.ending["validation_loss"], rel=1e-5)
    batch = torch.cat([b.tokens for b in run.task().validation()])
    classes = torch.cat([b.targets for b in run.task().validation()])
    right = (run.model()(batch).argmax(-1) == classes).double().mean()
    assert rows["test_accuracy_1"].iloc[-1] == pytest.approx(right.item())


def test_a_diverged_run_ends_its_curve(trained: dict[str, TrainedRun]) -> None:
    run = trained["birn"]
    log = run.log.head(6)
    cut = SimpleNamespace(log=log, steps=[0, 6], ending={"steps_done": 6}, task=run.task, run=run.run, model=run.model)
    rows = image_curve(cut)  # type: ignore[arg-type]
    assert rows["step"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert rows["loss_nats"].isna().tolist() == [False] * 6 + [True]


@pytest.mark.parametrize("name", RELATIONS)
def test_heat_is_what_the_layer_forms_with_all_its_norms(name: str) -> None:
    torch.manual_seed(0)
    model = models.build(name, vocabulary=5, context=6, features=4, d_model=8, n_blocks=8).double()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)
    patches = torch.randn(2, 6, 4, dtype=torch.float64)
    found, layer = heat(model, patches, rows=2)
    assert (found.shape, layer) == ((2, 2, 3), 6)
    x = model.residual(patches, 5)
    mixer = model.blocks[5].mixer
    b, a = ln0(x) @ mixer.left.weight.T, ln0(x[:, -1:]) @ mixer.right.weight.T + mixer.right.bias
    terms = torch.exp(ln0(a + b) if name == "birn" else ln0(a) + ln0(b))[:, :-1].norm(dim=-1)
    np.testing.assert_allclose(found.reshape(2, 6), (terms / terms.sum(-1, keepdim=True)).detach(), rtol=1e-10)
    np.testing.assert_allclose(found.sum((1, 2)), 1)
    published = torch.exp(
        ln0(a * 0 + x[:, -1:] @ mixer.right.weight.T + mixer.right.bias) + ln0(x @ mixer.left.weight.T)
    )
    assert not np.allclose(
        published[:, :-1].norm(dim=-1).detach(), terms.detach(), rtol=1e-3
    )  # what its code leaves out


def test_the_terms_of_heat_add_up_to_what_the_mixer_reads() -> None:
    torch.manual_seed(0)
    model = models.build("birn", vocabulary=5, context=6, features=4, d_model=8, n_blocks=1).double()
    x = torch.randn(2, 7, 8, dtype=torch.float64)
    mixer = model.blocks[0].mixer
    mean = mixer.pair_values(x, 3).mean(1)
    torch.testing.assert_close(mixer.out(mixer.norm(mean)), mixer(x)[:, 3], rtol=0, atol=1e-12)


def test_networks_without_relations_have_no_heat() -> None:
    model = models.build("transformer-classifier", vocabulary=5, context=4, features=4, d_model=8, n_blocks=1)
    with pytest.raises(UserError, match="no heat map"):
        heat(model, torch.zeros(1, 4, 4), rows=2)
    assert set(OF_RELATIONS) - set(OF_EVERY_IMAGE_RUN) == {"heat_maps", "heat_shares"}


@pytest.mark.parametrize(("shape", "side"), [((16, 16), 12), ((4, 4), 2), ((2, 2), 2), ((1, 1), 1), ((8, 8), 6)])
def test_the_middle_is_the_rectangle_nearest_to_half_the_area(shape: tuple[int, int], side: int) -> None:
    inside = central_patches(*shape)
    assert inside.sum() == side**2
    assert np.array_equal(inside, inside[::-1, ::-1])


def test_maps_hold_the_pixels_of_their_patches(trained: dict[str, TrainedRun]) -> None:
    run = trained["linear-birn"]
    rows = heat_maps(run)
    assert rows.groupby("image")["heat_1"].sum().tolist() == pytest.approx([1] * DRAWN)
    file, chosen = run.task().file, run.task().drawn_rows(DRAWN)  # type: ignore[attr-defined]
    for image, row in enumerate(chosen):
        of_image = rows[rows["image"] == image]
        assert np.array_equal(image_figures._image(of_image), file.test[0][row])
        assert of_image["label"].unique().tolist() == [file.test[1][row]]
    shares = heat_shares(run)
    middle = rows[rows["patch_row"].isin([0, 1]) & rows["patch_column"].isin([0, 1])].groupby("image")["heat_1"].sum()
    assert shares["centre_share_1"].head(DRAWN).tolist() == pytest.approx(middle.tolist())


def judged(claim: str, rows: pd.DataFrame) -> list[str]:
    return judging.parts(judging.judged(claim, image_curve=rows, heat_shares=rows))


ALIKE = dict.fromkeys(OF_IMAGES, (0.30, 0.90))


@pytest.mark.parametrize(
    ("claim", "corpus", "parts"), [("002-8", "cifar5m", 2), ("002-own-6", "cifar10", 2), ("002-own-3", "digits", 4)]
)
def test_ends_are_compared_within_their_margins(claim: str, corpus: str, parts: int) -> None:
    assert judged(claim, images(ALIKE, corpus)) == ["reproduced"] * parts
    worse = images({**ALIKE, "linear-birn": (0.50, 0.80)}, corpus)
    assert judged(claim, worse) == ["contradicted"] * parts
    one = judged(claim, images({**ALIKE, "linear-transformer-classifier": (0.50, 0.90)}, corpus))
    assert one == ["contradicted", "reproduced"] + ["reproduced"] * (parts - 2)
    wide = judged(claim, images(ALIKE, corpus, noise=0.2))
    assert wide[0] == "undecided"
    lost = images(ALIKE, corpus)
    lost.loc[(lost["model"] == "linear-birn") & (lost["seed"] == 2) & (lost["step"] == 9), "test_nats"] = np.nan
    assert judged(claim, lost)[0] == "undecided"


def test_a_claim_on_photographs_is_not_judged_on_digits_nor_the_other_way_round() -> None:
    for claim, corpus in (
        ("002-8", "digits"),
        ("002-own-3", "cifar5m"),
        ("002-8", "cifar10"),
        ("002-own-6", "cifar5m"),
    ):
        with pytest.raises(NotPlannedError):
            judged(claim, images(ALIKE, corpus))
    with pytest.raises(NotPlannedError, match="linear-transformer-classifier"):
        judged("002-8", images(dict.fromkeys(OF_IMAGES[:3], (0.3, 0.9)), "cifar5m"))


def test_heat_in_the_centre_is_judged_over_seeds() -> None:
    assert judged("002-9", heat_of(0.2)) == ["reproduced"]
    assert judged("002-9", heat_of(0.0)) == ["contradicted"]
    assert judged("002-9", heat_of(0.05)) == ["undecided"]
    with pytest.raises(NotPlannedError, match="needs runs on cifar5m"):
        judged("002-9", heat_of(0.2, "digits"))
    assert judged("002-own-7", heat_of(0.2, "cifar10")) == ["reproduced"]
    with pytest.raises(NotPlannedError, match="needs runs on cifar10"):
        judged("002-own-7", heat_of(0.2))


# figures and table


def test_figures_and_table_are_made_from_measurements(trained: dict[str, TrainedRun]) -> None:
    tables = {
        "image_curve": pd.concat([labelled(image_curve(run), name) for name, run in trained.items()]),
        "heat_maps": pd.concat([labelled(heat_maps(run), name) for name, run in trained.items()]),
        "heat_shares": pd.concat([labelled(heat_shares(run), name) for name, run in trained.items()]),
    }
    costs = [
        {"run": f"{name}-0", "non_embedding_parameters": 7, "steps_done": 12, "counted_flops": 9} for name in trained
    ]
    table = image_ends(**tables, cost=pd.DataFrame(costs))
    assert table["model"].tolist() == ["birn", "linear-birn"]
    assert table["heat_beyond_area_1"].notna().all()
    lines = image_figures.image_curves(**tables).axes[0].get_legend_handles_labels()[1]
    assert lines == ["BiRN", "Linear BiRN"]
    shown = image_figures.heat_maps(**tables).axes
    assert len(shown) == 3 * DRAWN
    assert style.COLOURS["birn"] != style.COLOURS["linear-birn"]
