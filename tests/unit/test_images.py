"""Images as a corpus: what is written, what is read, and what is said of every fault."""

import hashlib
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from allmlp.common.errors import UserError
from allmlp.data import tasks
from allmlp.data.corpora import identity
from allmlp.data.corpora.images.files import ImageFilesCorpus
from allmlp.data.corpora.spec import CorpusSpec, image_source
from allmlp.data.images import ImageFile, Images, patch_layout, write_images
from allmlp.plan.params import load
from allmlp.plan.plan import Plan
from tests.conftest import PARAMETERS, PROJECT
from tests.pictures import parquet, pictures, png, prepared, refused, spec


@pytest.mark.parametrize("form", ["encoded", "struct", "nested", "flat"])
def test_a_parquet_file_gives_its_images_back(form: str, tmp_path: Path) -> None:
    pixels, labels = pictures(60)
    forms = {"encoded": png, "struct": lambda x: {"bytes": png(x), "path": None}, "nested": lambda x: x.tolist()}
    forms["flat"] = lambda x: x.ravel().tolist()
    parquet(tmp_path / "mine.parquet", [forms[form](x) for x in pixels], labels.tolist())
    file = prepared(tmp_path, source="images", files="mine.parquet")
    test = np.array([int.from_bytes(hashlib.sha256(x.tobytes()).digest()[:8], "big") % 4 == 0 for x in pixels])
    for (images, classes), chosen in ((file.train, ~test), (file.test, test)):
        assert np.array_equal(images, pixels[chosen])
        assert np.array_equal(classes, labels[chosen])
    scaled = pixels[~test].reshape(-1, 3) / 255
    np.testing.assert_allclose(file.mean, scaled.mean(0), rtol=1e-6)
    np.testing.assert_allclose(file.deviation, scaled.std(0), rtol=1e-6)


@pytest.mark.parametrize("ending", ["png", "npy", "zip"])
def test_a_file_of_another_kind_is_called_what_it_is(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"mine.{ending}").write_bytes(png(pictures(1)[0][0]))
    said = refused(tmp_path, source="images", files=f"mine.{ending}")
    assert f"mine.{ending}: images are read from .parquet and .npz files alone" in said


def test_the_source_s_own_test_split_is_kept_and_its_images_are_not_trained_on(tmp_path: Path) -> None:
    pixels, labels = pictures(20)
    parquet(tmp_path / "train.parquet", [png(x) for x in pixels[:15]], labels[:15].tolist())
    parquet(tmp_path / "test.parquet", [png(x) for x in pixels[12:]], labels[12:].tolist())
    file = prepared(tmp_path, source="images", files="train.parquet", test_files="test.parquet")
    assert np.array_equal(file.train[0], pixels[:12])
    assert np.array_equal(file.test[0], pixels[12:])
    assert file.meta["left_out"] == 3


def test_equal_images_share_a_split_whatever_else_there_is(tmp_path: Path) -> None:
    pixels, labels = pictures(50)
    doubled = np.concatenate([pixels, pixels[::-1]])
    parquet(tmp_path / "mine.parquet", [png(x) for x in doubled], [*labels.tolist()] * 2)
    file = prepared(tmp_path, source="images", files="mine.parquet")
    sets = [{x.tobytes() for x in split[0]} for split in (file.train, file.test)]
    assert not sets[0] & sets[1]
    assert len(sets[0] | sets[1]) == 50


def test_patches_are_squares_row_by_row_standardised(tmp_path: Path) -> None:
    pixels, labels = pictures(40)
    parquet(tmp_path / "mine.parquet", [png(x) for x in pixels], labels.tolist())
    file = prepared(tmp_path, source="images", files="mine.parquet")
    patches = file.patches(pixels[:2], 2)
    assert patches.shape == (2, 2 * 3, 12)
    expected = (pixels[1, 2:4, 0:2] / 255 - file.mean) / file.deviation  # second row, first column
    np.testing.assert_allclose(patches[1, 3].reshape(2, 2, 3), expected, rtol=1e-5)
    train = file.patches(np.asarray(file.train[0]), 2).reshape(-1, 3)
    np.testing.assert_allclose((train.mean(0), train.std(0)), ([0] * 3, [1] * 3), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "class"}, "no column 'class'; it has 'image', 'label', 'name'. Correct `label:`"),
        ({"image": "picture"}, "no column 'picture'"),
        ({"label": "name"}, "holds string, not whole numbers"),
        ({"classes": 3}, r"its label is \d, not from 0 to 2. Correct `classes:` \(now 3\)"),
        ({"size": [4, 4, 3]}, "row 0 is 4 x 6 x 3, not 4 x 4 x 3. Correct `size:`"),
        ({"files": "none/*.parquet"}, "nothing matches 'none/"),
        ({"held_out": 10**9}, "no test image among 30"),
    ],
)
def test_bad_input_is_one_message_that_says_what_to_do(change: dict, said: str, tmp_path: Path) -> None:
    pixels, labels = pictures(30)
    names = [f"picture {n}" for n in range(30)]
    parquet(tmp_path / "mine.parquet", [png(x) for x in pixels], labels.tolist(), name=names)
    message = refused(tmp_path, **{"source": "images", "files": "mine.parquet", **change})
    assert re.search(said, message), message


def test_damaged_files_and_images_are_named(tmp_path: Path) -> None:
    pixels, labels = pictures(3)
    parquet(tmp_path / "mine.parquet", [png(pixels[0]), b"no picture", png(pixels[2])], labels.tolist())
    assert "mine.parquet: row 1 holds no image that can be read" in refused(
        tmp_path, source="images", files="mine.parquet"
    )
    parquet(tmp_path / "mine.parquet", [png(pixels[0]), None, png(pixels[2])], labels.tolist())
    assert "row 1 has no image" in refused(tmp_path, source="images", files="mine.parquet")
    parquet(tmp_path / "mine.parquet", [(pixels[n] * 1.5).tolist() for n in range(3)], labels.tolist())
    assert "whole numbers from 0 to 255" in refused(tmp_path, source="images", files="mine.parquet")
    (tmp_path / "mine.parquet").write_bytes((tmp_path / "mine.parquet").read_bytes()[:-30])
    assert "truncated or corrupt .parquet" in refused(tmp_path, source="images", files="mine.parquet")


def test_a_changed_folder_is_refused(tmp_path: Path) -> None:
    pixels, labels = pictures(40)
    parquet(tmp_path / "mine.parquet", [png(x) for x in pixels], labels.tolist())
    folder = prepared(tmp_path, source="images", files="mine.parquet").folder
    data = bytearray((folder / "train-images.npy").read_bytes())
    data[-1] ^= 1
    (folder / "train-images.npy").write_bytes(data)
    with pytest.raises(UserError, match=r"train-images.npy: not what was written.*run `allmlp tokenize mine`"):
        ImageFile(folder)


def test_identity_is_of_the_content_not_of_the_place(tmp_path: Path) -> None:
    pixels, labels = pictures(8)
    (tmp_path / "elsewhere").mkdir()
    for path in (tmp_path / "a.parquet", tmp_path / "elsewhere/b.parquet"):
        parquet(path, [png(x) for x in pixels], labels.tolist())
    here, there = (spec(source="images", files=name) for name in ("a.parquet", "elsewhere/b.parquet"))
    assert identity.token_id("mine", here, tmp_path) == identity.token_id("mine", there, tmp_path)
    as_test = spec(source="images", files="a.parquet", test_files="a.parquet")
    assert identity.token_id("mine", here, tmp_path) != identity.token_id("mine", as_test, tmp_path)
    parquet(tmp_path / "a.parquet", [png(x) for x in pixels[::-1]], labels.tolist())
    assert identity.token_id("mine", here, tmp_path) != identity.token_id("mine", there, tmp_path)


# digits, and the plan


def test_digits_need_no_download_and_are_those_that_were_pinned(tmp_path: Path) -> None:
    found = CorpusSpec.model_validate({"source": "digits", "held_out": 5})
    source = image_source("digits", found)
    meta = write_images(source.pieces(tmp_path), source, tmp_path / "digits-0", describe={})
    assert (meta["images"], meta["classes"], meta["size"]) == (1797, 10, [8, 8, 1])
    assert meta["splits"] == {"train": 1426, "test": 371}


def test_a_corpus_of_images_is_no_corpus_of_text() -> None:
    digits = CorpusSpec.model_validate({"source": "digits"})
    with pytest.raises(UserError, match="holds images, which have no tokens"):
        identity.vocabulary("digits", digits, PROJECT)
    with pytest.raises(UserError, match="holds text, not images"):
        image_source("stories", CorpusSpec.model_validate({"source": "stories", "documents": 3}))
    with pytest.raises(ValidationError, match="tokenizer"):
        CorpusSpec.model_validate({"source": "digits", "tokenizer": {"kind": "bytes"}})


def plan(folder: Path, overlay: str) -> Plan:
    (folder / "my.yaml").write_text(overlay)
    return Plan(load(PARAMETERS / "params.yaml", [folder / "my.yaml"]), PARAMETERS)


def test_pictures_and_other_numbers_say_how_they_become_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "pictures/0").mkdir(parents=True)
    (tmp_path / "pictures/0/1.png").write_bytes(b"")
    for files in ("pictures", "pictures/*/*.png"):
        corpus = ImageFilesCorpus(files=files, size=[4, 4, 3], classes=2)
        with pytest.raises(UserError, match=r"docs/corpora\.md"):
            next(corpus.pieces(tmp_path))
    np.savez(tmp_path / "a.npz", image=np.zeros((3, 4, 4, 3), np.float32), label=np.zeros(3, np.int64))
    with pytest.raises(UserError, match=r"'image' holds float32, not uint8\..*times 255") as raised:
        next(ImageFilesCorpus(files="a.npz", size=[4, 4, 3], classes=2).pieces(tmp_path))
    assert "size" not in str(raised.value)


def test_image_runs_are_planned_without_reading_an_image(tmp_path: Path) -> None:
    runs = [run for run in plan(tmp_path, "{}").runs if run.labels.get("part") == "images"]
    assert {run.labels["model"] for run in runs} == {
        "birn",
        "linear-birn",
        "transformer-classifier",
        "linear-transformer-classifier",
    }
    assert all(run.hyperparameters["context"] == 16 and run.tokens.startswith("digits-") for run in runs)
    changed = plan(tmp_path, "corpora: {digits: {held_out: 7}}")
    assert not {run.id for run in changed.runs} & {run.id for run in runs}
    with pytest.raises(UserError, match="images of 8 x 8 cannot be cut into patches of 3 x 3"):
        _ = plan(tmp_path, "studies: {copying: {images: {patch: 3}}}").runs
    with pytest.raises(UserError, match=r"^my.yaml:1: corpus 'stories' holds text, and images is read here"):
        _ = plan(tmp_path, "studies: {copying: {images: {corpus: stories}}}").runs
    with pytest.raises(UserError, match=r"^my.yaml:1: corpus 'digits' holds images, and text is read here"):
        _ = plan(tmp_path, "studies: {language: {corpus: digits}}").runs


# the task


def task(folder: Path, **parameters: object) -> object:
    pixels, labels = pictures(90, size=[4, 4, 3])
    source = SimpleNamespace(size=[4, 4, 3], classes=10, held_out=4)
    if not folder.exists():
        write_images([Images(None, pixels, labels)], source, folder, describe={})
    return tasks.build("images", tokens=folder, **{"patch": 2, "batch_size": 8, **parameters})


def test_batches_are_pure_and_an_epoch_visits_every_image_once(tmp_path: Path) -> None:
    one, two = task(tmp_path / "a"), task(tmp_path / "a")
    assert torch.equal(one.batch(3, 40).tokens, two.batch(3, 40).tokens)
    assert not torch.equal(one.batch(4, 40).tokens, one.batch(3, 40).tokens)
    assert (one.context, one.features, one.vocabulary) == (4, 12, 10)
    epoch = torch.cat([one.batch(0, step).tokens for step in range(one.batches_per_epoch)])
    assert epoch.dtype == torch.float32
    assert len(epoch.unique(dim=0)) == len(epoch) == 8 * one.batches_per_epoch
    held_out = torch.cat([batch.tokens for batch in one.validation()])
    assert len(torch.cat([epoch, held_out]).unique(dim=0)) == len(epoch) + len(held_out)
    assert tasks.size("images", {"patch": 2, "batch_size": 8}) == (8, 8)
    assert sum(len(batch.targets) for batch in task(tmp_path / "a", test_images=5).validation()) == 5


def test_few_test_images_of_a_sorted_source_are_of_all_classes(tmp_path: Path) -> None:
    pixels, _ = pictures(4000, size=[4, 4, 3])
    source = SimpleNamespace(size=[4, 4, 3], classes=10, held_out=4)
    write_images([Images(None, pixels, np.arange(4000) // 400)], source, tmp_path / "a", describe={})
    (batch,) = task(tmp_path / "a", test_images=100).validation()
    assert batch.targets.bincount(minlength=10).min() >= 3
    assert torch.equal(batch.tokens, task(tmp_path / "a", test_images=100).validation()[0].tokens)


def test_images_that_cannot_be_trained_on_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="images of 4 x 4 cannot be cut into patches of 3 x 3"):
        task(tmp_path / "a", patch=3)
    with pytest.raises(UserError, match=r"training images are fewer than one batch of 999"):
        task(tmp_path / "a", batch_size=999)
    with pytest.raises(UserError, match=r"is not here, or not whole\. `allmlp tokenize none` makes it"):
        ImageFile(tmp_path / "none-00000000")
    with pytest.raises(UserError, match="images of 7 x 8 cannot be cut"):
        patch_layout([7, 8, 1], 2)


def test_real_photographs(shared_data) -> None:  # type: ignore[no-untyped-def]
    path = shared_data("cifar10/cifar10_jpeg_test.parquet")
    found = CorpusSpec.model_validate({"source": "images", "files": str(path), "size": [32, 32, 3], "classes": 10})
    piece = next(iter(image_source("cifar10", found).pieces(Path("/"))))
    assert piece.pixels.shape == (1000, 32, 32, 3)
    assert set(piece.labels) <= set(range(10))
    assert piece.pixels.std() > 40


def test_images_that_no_run_could_use_are_refused_by_the_plan(tmp_path: Path) -> None:
    pixels, labels = pictures(3)
    flat = [x.ravel().tolist() for x in pixels]
    parquet(tmp_path / "mine.parquet", flat, labels.tolist())
    mine = {"source": "images", "files": "mine.parquet"}
    with pytest.raises(UserError, match=r"mine\.parquet: row 0 is 72, not 4 x 4 x 3\. Correct `size:`"):
        identity.token_id("mine", spec(**mine, size=[4, 4, 3]), tmp_path)
    assert identity.token_id("mine", spec(**mine), tmp_path).startswith("mine-")
