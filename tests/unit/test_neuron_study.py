"""Study 000's neurons: their measures, the rules on them, runs with one setting changed, figures and tables."""

import hashlib
import io
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
import torch

from allmlp import models, params, studies
from allmlp.errors import UserError
from allmlp.plan import Plan
from allmlp.report import style
from allmlp.studies.language import classification, constructed, frequencies, parts, verdicts
from allmlp.studies.language.measures import (
    class_energies,
    concentration,
    constructed_neurons,
    energy_map,
    example_neurons,
    explained_energy,
    keywords,
    l1_l2,
    neuron_classes,
    row_norms,
    thresholds,
)
from allmlp.studies.rules import NotPlannedError
from tests import tiny
from tests.conftest import PROJECT

T, D, SEEDS = 15, 16, range(6)
KEPT, STEPS = [0, 1, 3, 10, 50, 95, 190], 200
OF_NEURONS = (class_energies, concentration, energy_map, example_neurons, explained_energy, l1_l2, neuron_classes,
              row_norms, thresholds)  # fmt: skip
LABELS = {"model": "mlp", "part": "neurons", "corpus": "stories", "d_model": D, "d_mlp": 32, "context": T}
BASE = {"weight_decay": 0.5, "embedding_std": 0.02}
TOKENS = "tiny-00000000"


def end_of_training(seed: int) -> np.ndarray:
    """Eight pairs of recent rows, four equal rows, four low waves and four of neither, (20, T, D)."""
    rng = np.random.default_rng(seed)
    waves = constructed.unit_rows(rng, 4, 1, D) * frequencies.basis(T)[2][None, :, None]
    kinds = [constructed.n_gram(rng, 8, D, 2), constructed.bag_of_words(rng, 4, D, 0.1), waves]
    return np.concatenate([*kinds, constructed.unit_rows(rng, 4, T, D)])


def trained(seed: int = 0) -> SimpleNamespace:
    """A run as measures see it: weights that turn from random into those of the end."""
    start, end = constructed.fresh(np.random.default_rng(seed), 20, D), end_of_training(seed)
    reads: list[int] = []

    def weights(step: int) -> dict[str, torch.Tensor]:
        reads.append(step)
        layer = start * (1 - step / STEPS) + end * (step / STEPS)
        return {"first.weight": torch.tensor(layer.reshape(20, -1), dtype=torch.float32)}

    log = pd.DataFrame({"step": range(STEPS), "learning_rate": 0.25})
    run = SimpleNamespace(
        labels=LABELS, steps=STEPS, seed=seed, hyperparameters={"context": T}, optimiser={"weight_decay": 0.5}
    )
    return SimpleNamespace(run=run, log=log, steps=[*KEPT, STEPS], weights=weights, reads=reads)


@pytest.mark.parametrize("module", OF_NEURONS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_measure_gives_the_columns_that_it_declares_and_the_same_twice(module) -> None:
    rows = module.measure(trained())
    assert list(rows.columns) == list(module.COLUMNS)
    pd.testing.assert_frame_equal(rows, module.measure(trained()))


def test_all_measures_of_a_run_read_each_checkpoint_once_for_classes() -> None:
    run = trained()
    for module in OF_NEURONS:
        module.measure(run)
    assert sorted(run.reads) == sorted([*KEPT, STEPS, STEPS])  # the examples show weights: read again


def test_another_run_is_not_taken_for_the_last_one() -> None:
    first, second = (l1_l2.measure(trained(seed)) for seed in (0, 1))
    assert not first["ratio_1"].equals(second["ratio_1"])
    assert first["ratio_1"].equals(l1_l2.measure(trained(0))["ratio_1"])


def test_classes_and_energies_of_neurons_that_are_known() -> None:
    rows = neuron_classes.measure(trained())
    last = rows[(rows["step"] == STEPS) & (rows["reading"] == "relative")].iloc[0]
    assert last[["n_gram_share_1", "bag_of_words_share_1", "dct_sparse_share_1"]].tolist() == [0.4, 0.2, 0.2]
    of_class = class_energies.measure(trained())
    of_class = of_class[(of_class["moment"] == "end") & (of_class["reading"] == "relative")].set_index("class")
    assert of_class["neurons"].to_dict() == {"n-gram": 8, "bag-of-words": 4, "hybrid": 0, "dct-sparse": 4, "other": 4}
    assert of_class.loc["n-gram", "recent_energy_1"] == pytest.approx(1.0)
    assert of_class.loc["bag-of-words", "constant_energy_1"] > 0.98
    assert of_class.loc["dct-sparse", "low_energy_1"] == pytest.approx(1.0)
    assert np.isnan(of_class.loc["hybrid", "recent_energy_1"])


def test_the_map_puts_neurons_where_their_energy_is() -> None:
    rows = energy_map.measure(trained())
    end = rows[rows["moment"] == "end"]
    assert (end["recent_energy_1"].iloc[:8] == 1).all()
    assert (end["large_rows"].iloc[:8] == 2).all()
    np.testing.assert_allclose(end[["recent_energy_1", "constant_energy_1"]].iloc[8:12].sum(axis=1), 1, atol=0.02)
    start = rows[rows["moment"] == "start"]
    assert start["recent_energy_1"].mean() == pytest.approx(3 / T, abs=0.03)
    curves = explained_energy.measure(trained())
    assert (curves[curves["window_rows"] == T - 1]["explained_1"] > 1 - 1e-12).all()
    medians = curves[(curves["moment"] == "start") & (curves["quantile_1"] == 0.5)]
    np.testing.assert_allclose(medians["explained_1"], medians["by_chance_1"], atol=0.05)


def test_the_curves_of_thresholds_go_through_the_printed_values() -> None:
    rows, classes = thresholds.measure(trained()), neuron_classes.measure(trained())
    last = classes[classes["step"] == STEPS].set_index("reading")
    printed = rows[np.isclose(rows["value_1"], rows["printed_1"])]
    assert set(printed["threshold"]) == set(thresholds.VARIED)
    for reading in ("paper", "relative"):
        at = printed[printed["reading"] == reading]
        assert (at["n_gram_share_1"] == last.loc[reading, "n_gram_share_1"]).all()
    factor = rows[(rows["threshold"] == "variance") & (rows["reading"] == "relative")]
    assert factor["bag_of_words_share_1"].is_monotonic_increasing
    assert factor["bag_of_words_share_1"].iloc[[0, -1]].tolist() == [0.2, 1.0]  # from equal rows to all


def test_row_norms_are_sorted_by_the_number_of_large_rows_and_keep_their_energy() -> None:
    rows = row_norms.measure(trained())
    assert rows["step"].unique().tolist() == [0, 1, 10, 95, 200]
    end = rows[rows["step"] == STEPS]
    large = end[(end["basis"] == "time") & (end["row"] == 0)].sort_values("column")["large_rows"]
    assert large.is_monotonic_increasing
    assert large.iloc[0] == 2
    energies = (end.assign(energy=end["norm_1"] ** 2)).groupby(["basis", "column"])["energy"].sum().unstack(0)
    np.testing.assert_allclose(energies["time"], energies["frequency"], rtol=0.02)  # three digits are kept


def test_many_neurons_share_the_places_of_the_picture(monkeypatch) -> None:
    monkeypatch.setattr(row_norms, "COLUMNS_DRAWN", 4)
    assert row_norms.measure(trained())["column"].max() == 3


def test_examples_are_of_their_class_and_as_many_as_there_are() -> None:
    rows, end = example_neurons.measure(trained()), end_of_training(0).astype(np.float32)
    classes = classification.classify(end, classification.RELATIVE)
    assert set(rows["class"]) == {"n-gram", "bag-of-words", "dct-sparse", "other"}
    for (name, neuron), of_neuron in rows.groupby(["class", "neuron"]):
        assert classes[neuron] == name
        shown = np.array([text.split() for text in of_neuron.sort_values("position")["weights"]], dtype=float)
        np.testing.assert_allclose(shown / 1000, end[neuron] / np.abs(end[neuron]).max(), atol=5e-4)
    assert rows.groupby("class")["neuron"].nunique().eq(2).all()


@pytest.fixture
def model_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A small untrained MLP on counted sentences, as measures see it."""
    monkeypatch.chdir(tmp_path)
    tiny.write_tokens(tmp_path)
    sizes = {"vocabulary": 257, "context": 7, "d_model": 8, "d_mlp": 16}
    torch.manual_seed(0)
    model = models.build("mlp", **sizes).eval()
    run = SimpleNamespace(
        labels=LABELS, steps=1, seed=0, hyperparameters=sizes, optimiser={"weight_decay": 0.1}, tokens=TOKENS
    )
    return SimpleNamespace(run=run, steps=[1], weights=lambda step: model.state_dict(), model=lambda: model)


def test_keywords_are_near_their_neuron_and_completions_are_the_models(model_run) -> None:
    rows = keywords.measure(model_run)
    assert list(rows.columns) == list(keywords.COLUMNS)
    assert len(rows) == 3 * 3 * keywords.CLEAREST
    assert rows["coherence_1"].dropna().between(-1, 1).all()
    model, row = model_run.model(), rows[(rows["class"] == "n-gram") & (rows["nearness"] == "dot")].iloc[0]
    w = model.first.weight.detach().double().numpy().reshape(8, 7, 8)[row["neuron"]]
    loudest = w[np.linalg.norm(w, axis=1).argmax()]
    first = int(np.argmax(model.embedding.weight.detach().double().numpy() @ loudest))
    with torch.no_grad():
        x = torch.zeros(1, 7, 8)
        x[0, -1] = model.embedding.weight[first]
        after = int(model.from_embeddings(x).argmax())
    shown = {
        token: keywords._shown(keywords.TokenFile(Path("results/tokens") / TOKENS), [token]) for token in (first, after)
    }
    assert row["keywords"].split(" ")[0] == shown[first]
    assert row["completions"].split(" ")[0] == shown[after]


def test_the_clearest_neurons_are_of_the_class_first() -> None:
    found = keywords.clearest(class_energies.Energies(*_gram(end_of_training(0))), classification.RELATIVE)
    assert set(found["n-gram"]) <= set(range(8))
    assert set(found["bag-of-words"][:4]) == {8, 9, 10, 11}


def _gram(w: np.ndarray) -> tuple[np.ndarray, int]:
    return w @ w.transpose(0, 2, 1), w.shape[2]


def test_one_reading_sorts_constructed_neurons_at_every_width() -> None:
    rows = constructed_neurons.measure(SimpleNamespace())
    assert list(rows.columns) == list(constructed_neurons.COLUMNS)
    relative = rows[(rows["rows"] == "max-row") & (rows["slices"] == "rms-row") & (rows["variance"] == "scaled")]
    assert (relative["right_share_1"] >= 0.95).all()
    assert judged("000-19", constructed_neurons=rows).verdict == "reproduced"
    wrong = rows.assign(right_share_1=rows["right_share_1"].where(rows["kind"] != "2 recent", 0.94))
    assert judged("000-19", constructed_neurons=wrong).verdict == "contradicted"


def judged(claim: str, **tables: pd.DataFrame):
    """The finding of a claim's own test on these tables."""
    row = next(row for row in studies.ledger("language") if row["id"] == claim)
    assert set(row["measures"]) <= set(tables)
    evidence = SimpleNamespace(table=lambda name: tables[name].copy(), margin=row["margin"], paper=row["paper"])
    return getattr(verdicts, row["test"])(evidence)


def own(test: str) -> str:
    """The id of this project's own claim that a test judges."""
    return next(row["id"] for row in studies.ledger("language") if row["test"] == test)


def parts_of(finding) -> list[str]:
    return [part.verdict for part in finding.parts]


def jitter(seed: int) -> float:
    return 1 + 0.01 * (seed - 2.5)


def by_class(n_gram: float, words: float, neurons: float = 20) -> pd.DataFrame:
    rows = [
        {"run": f"r{seed}", "seed": seed, "moment": moment, "reading": reading, "class": name, "neurons": neurons,
         "window_energy_1": n_gram * jitter(seed), "recent_energy_1": n_gram * jitter(seed),
         "constant_energy_1": words * jitter(seed), "part": "neurons"}
        for seed, moment, reading in product(SEEDS, ("start", "end"), ("paper", "relative"))
        for name in classification.CLASSES
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(d_model=64)


@pytest.mark.parametrize("claim", ["000-6", "000-8"])
def test_energies_of_classes_are_judged_where_every_seed_has_ten_neurons(claim) -> None:
    assert parts_of(judged(claim, class_energies=by_class(0.97, 0.97))) == ["reproduced", "reproduced"]
    assert set(parts_of(judged(claim, class_energies=by_class(0.97, 0.5)))) == {"reproduced", "contradicted"}
    few = judged(claim, class_energies=by_class(0.97, 0.5, neurons=9))
    assert parts_of(few) == ["undecided", "undecided"]
    assert all(part.p is None and "as few as 9" in part.text for part in few.parts)


def spread(slope: float, part: str = "neurons") -> pd.DataFrame:
    """Neurons whose low frequencies follow their large rows, and whose ratios are each other's mirror."""
    tables = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        large = rng.integers(1, 16, 200)
        low = slope * large / 15 + 0.05 * rng.normal(size=200)
        ratio = np.where(rng.random(200) < 0.5, 1.2, 3.6) + 0.02 * rng.normal(size=200)
        tables.append(
            pd.DataFrame(
                {"large_rows": large, "low_energy_1": low, "ratio_1": ratio, "frequency_ratio_1": 5 - slope * ratio}
            ).assign(run=f"r{seed}", seed=seed, moment="end", part=part, wear_1=30.0)
        )
    return pd.concat(tables, ignore_index=True)


def test_rank_correlations_over_neurons() -> None:
    assert judged("000-9", energy_map=spread(1.0)).verdict == "reproduced"
    assert judged("000-9", energy_map=spread(-1.0)).verdict == "contradicted"
    constant = spread(1.0).assign(large_rows=15)
    assert judged("000-9", energy_map=constant).verdict == "undecided"
    assert parts_of(judged("000-16", l1_l2=spread(1.0))) == ["reproduced", "reproduced"]
    assert parts_of(judged("000-16", l1_l2=spread(-1.0))) == ["contradicted", "reproduced"]
    fresh = spread(-1.0).assign(wear_1=3.0)
    assert parts_of(judged("000-16", l1_l2=fresh)) == ["undecided", "reproduced"]


def sparse(share: float, wear: float = 30.0, start: float = 0.0) -> pd.DataFrame:
    rows = [
        {"run": f"r{seed}", "seed": seed, "step": step, "reading": reading, "part": "neurons", "d_model": 64,
         "wear_1": wear * step / 100, "dct_sparse_share_1": (share if step else start) * jitter(seed)}
        for seed, step, reading in product(SEEDS, (0, 100), ("paper", "relative"))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_dct_sparse_neurons_must_be_there_and_must_have_emerged() -> None:
    assert [judged(c, neuron_classes=sparse(0.1)).verdict for c in ("000-10", "000-12")] == ["reproduced"] * 2
    assert [judged(c, neuron_classes=sparse(0.0)).verdict for c in ("000-10", "000-12")] == ["contradicted"] * 2
    assert [judged(c, neuron_classes=sparse(0.0, wear=1)).verdict for c in ("000-10", "000-12")] == ["undecided"] * 2
    already = sparse(0.1, start=0.1)
    assert [judged(c, neuron_classes=already).verdict for c in ("000-10", "000-12")] == ["contradicted", "reproduced"]


def near(words: float, n_gram: float, in_class: float = 1.0) -> pd.DataFrame:
    coherence = {"bag-of-words": words, "n-gram": n_gram, "random": 0.0}
    rows = [
        {"run": f"r{seed}", "seed": seed, "class": name, "rank": rank, "nearness": nearness, "part": "neurons",
         "coherence_1": coherence[name] * jitter(seed), "in_class": in_class if name != "random" else 0.0,
         "neuron": rank, "keywords": "▁a ▁b", "completions": "▁c", "coherence_of_5_1": 0.0}
        for seed, name, rank, nearness in product(SEEDS, coherence, range(6), ("dot", "cosine", "l2"))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_keywords_must_be_more_coherent_than_both_others() -> None:
    assert parts_of(judged("000-11", keywords=near(0.2, 0.1))) == ["reproduced", "reproduced"]
    assert parts_of(judged("000-11", keywords=near(0.2, 0.2))) == ["reproduced", "contradicted"]
    none = judged("000-11", keywords=near(0.2, 0.1, in_class=0.0))
    assert parts_of(none) == ["undecided", "undecided"]
    assert "as few as 0 of the 6" in none.parts[0].text


def ends(share: Callable[[dict], tuple[float, float, float, float]], wear: float = 12.0) -> dict[str, pd.DataFrame]:
    """neuron_classes and concentration of every variation: n-gram, bag-of-words, constant, explained at the end."""
    base = {"corpus": "stories", "context": 15, "d_mlp": 512, **BASE}
    cells = [base, *({**base, "corpus": f"stories-{control}"} for control in parts.CONTROLS)]
    cells += [{**base, "context": T} for T in (4, 32)] + [{**base, "d_mlp": w} for w in (128, 2048, 8192)]
    cells += [{**base, "weight_decay": d, "embedding_std": s} for d, s in product((0.01, 0.5), (0.02, 1.0))][:-2]
    cells += [{**base, "embedding_std": 1.0}]
    classes, numbers = [], []
    for number, cell in enumerate(cells):
        about = {**cell, **{f"base_{name}": value for name, value in base.items()}, "d_model": 64,
                 "part": "variation" if cell["corpus"] == "stories" else "control"}  # fmt: skip
        n_gram, words, constant, explained = share(cell)
        for seed, step in product(SEEDS, (0, 100)):
            run, scale = {"run": f"c{number}-{seed}", "seed": seed, "step": step}, jitter(seed) * step / 100
            numbers.append({**run, "constant_share_median_1": constant * scale,
                            "window_share_median_1": explained * scale, **about})  # fmt: skip
            shares = {"n_gram_share_1": n_gram * scale, "bag_of_words_share_1": words * scale, "hybrid_share_1": 0.0,
                      "dct_sparse_share_1": 0.0, "other_share_1": 0.0}  # fmt: skip
            for reading in ("paper", "relative"):
                classes.append({**run, "reading": reading, "wear_1": wear * step / 100, **shares, **about})
    cost = pd.DataFrame(classes).drop_duplicates("run")[["run", "seed"]].assign(validation_nats=3.0)
    return {"neuron_classes": pd.DataFrame(classes), "concentration": pd.DataFrame(numbers), "cost": cost}


def as_claimed(cell: dict) -> tuple[float, float, float, float]:
    """Controls without their class, more of both with context, more sorted and explained after more decay."""
    n_gram, words, constant, explained = 0.4, 0.3, 0.5, 0.9
    if cell["corpus"].endswith("sentences"):
        words, constant = 0.0, 0.1
    if cell["corpus"].endswith("words"):
        n_gram, constant = 0.05, 0.9
    if cell["context"] != 15:
        words = 0.6
    if cell["weight_decay"] < 0.5:
        n_gram, words, explained = (0.1, 0.0, 0.4) if cell["embedding_std"] < 1 else (0.6, 0.0, 0.8)
    return n_gram, words, constant, explained


def test_claims_on_variations_that_hold() -> None:
    tables = ends(as_claimed)
    for claim in ("000-15", own("without_long_range"), own("without_order"), own("wear_and_start")):
        found = judged(claim, **tables)
        assert found.verdict == "reproduced", (claim, found.parts)


def test_claims_on_variations_that_do_not_hold() -> None:
    same = ends(lambda cell: (0.4, 0.3, 0.5, 0.5))
    assert parts_of(judged("000-15", **same)) == ["reproduced", "undecided"]
    for test in ("without_long_range", "without_order"):
        assert parts_of(judged(own(test), **same)) == ["contradicted", "contradicted"]
    assert parts_of(judged(own("wear_and_start"), **same)) == ["contradicted"] * 3
    fresh = ends(lambda cell: (0.4, 0.3, 0.5, 0.5), wear=2.0)
    assert parts_of(judged(own("without_long_range"), **fresh)) == ["undecided", "undecided"]
    none = ends(lambda cell: (0.02, 0.02, 0.5, 0.5))
    assert parts_of(judged(own("without_long_range"), **none)) == ["undecided", "contradicted"]
    assert parts_of(judged(own("without_order"), **none)) == ["undecided", "contradicted"]


def test_three_widths_cannot_show_convergence_beyond_the_second() -> None:
    rows = ends(as_claimed)["neuron_classes"]
    found = judged("000-15", neuron_classes=rows[rows["d_mlp"] < 8192])
    assert parts_of(found) == ["undecided", "reproduced"]
    assert "128, 512, 2048" in found.parts[0].text


@pytest.mark.parametrize("claim", ["000-5", "000-6", "000-9", "000-10", "000-11", "000-12", "000-16"])
def test_rows_of_other_parts_do_not_judge_the_papers_claims(claim) -> None:
    tables = {
        "neuron_classes": ends(as_claimed)["neuron_classes"],
        "class_energies": by_class(1, 1).assign(part="variation"),
        "energy_map": spread(1.0, "variation"),
        "l1_l2": spread(1.0, "variation"),
        "keywords": near(0.2, 0.1).assign(part="variation"),
    }
    with pytest.raises(NotPlannedError, match="needs runs of neurons"):
        judged(claim, **tables)


def test_a_plan_without_controls_or_variations_is_named() -> None:
    tables = ends(as_claimed)
    no_controls = {name: rows[rows["part"] != "control"] for name, rows in tables.items() if name != "cost"}
    with pytest.raises(NotPlannedError, match="sentences dealt anew"):
        judged(own("without_long_range"), **no_controls)
    only_base = {name: rows[rows["run"].str.startswith("c0-")] for name, rows in tables.items()}
    with pytest.raises(NotPlannedError, match="several values of d_mlp"):
        judged("000-15", **only_base)


def plan(tmp_path: Path, overlay: str = "") -> list:
    file = tmp_path / "overlay.yaml"
    file.write_text(overlay or "scale: workstation\n")
    found = params.load(PROJECT / "params.yaml", [file], {"scale": "workstation"})
    runs = Plan(found, PROJECT).by_scale["workstation"]["language"]
    return [run for run in runs if run.labels["part"] in (parts.VARIATION, parts.CONTROL)]


VARIATIONS = "studies: {{language: {{{0}scales: {{workstation: {{variations: {{{1}}}}}}}}}}}\n"


def test_each_variation_changes_one_thing_and_the_base_is_trained_once(tmp_path) -> None:
    runs = plan(
        tmp_path, VARIATIONS.format("", "contexts: [4, 15], d_mlp: [128, 512], controls: [stories-words], seeds: [7]")
    )
    assert len({run.id for run in runs}) == len(runs)
    grid = {"weight_decay", "embedding_std"}
    changes = [{name for name in parts.SETTINGS if run.labels[name] != run.labels[f"base_{name}"]} for run in runs]
    assert changes.count(set()) == 1
    assert all(len(changed) <= 1 or changed <= grid for changed in changes)
    assert {run.labels["context"] for run in runs} == {4, 15}
    assert [run.labels["part"] for run in runs if run.corpus == "stories-words"] == ["control"]
    plain = next(run for run in runs if run.labels["embedding_std"] == 1.0)
    assert plain.hyperparameters["embedding_std"] is None


def test_controls_of_another_corpus_are_left_out_and_unknown_ones_named(tmp_path) -> None:
    other = plan(tmp_path, VARIATIONS.format("corpus: stories-bytes, ", "controls: [stories-words]"))
    assert {run.corpus for run in other} == {"stories-bytes"}
    with pytest.raises(UserError, match="no corpus 'stories-wrods'"):
        plan(tmp_path, VARIATIONS.format("", "controls: [stories-wrods]"))


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    """Every measurement that figures and tables of neurons are made from."""
    found = {
        module.__name__.rpartition(".")[2]: pd.concat(
            [module.measure(trained(seed)).assign(run=f"mlp-{seed}", seed=seed, **LABELS) for seed in SEEDS],
            ignore_index=True,
        )
        for module in OF_NEURONS
    }
    return {**found, "keywords": near(0.2, 0.1), "constructed_neurons": constructed_neurons.measure(SimpleNamespace())}


def given(name: str, tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    module = studies.module("language", name)
    of_part = ends(as_claimed) if "variation" in module.PARTS else tables
    return {measure: of_part[measure].copy() for measure in module.MEASURES}


def svg(name: str, given: dict[str, pd.DataFrame]) -> bytes:
    buffer = io.BytesIO()
    with matplotlib.rc_context(style.RC):
        studies.module("language", f"figures.{name}").draw(given).savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


FIGURES = ["class_shares_by_size", "coherence", "controls", "energy_map", "example_neurons", "l1_l2",
           "l1_l2_frequencies", "neuron_classes", "row_norms", "thresholds", "wear"]  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_same_bytes_each_time_is_small_and_can_be_of_one_seed(name, tables) -> None:
    first = svg(name, given(f"figures.{name}", tables))
    assert hashlib.sha256(first).digest() == hashlib.sha256(svg(name, given(f"figures.{name}", tables))).digest()
    assert len(first) < 300_000
    one = {key: rows[rows["seed"] == 0] for key, rows in given(f"figures.{name}", tables).items()}
    assert svg(name, one)


def rows_of(name: str, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return studies.module("language", f"tables.{name}").tabulate(given(f"tables.{name}", tables))


def test_tables_say_what_was_measured(tables) -> None:
    energies = rows_of("class_energies", tables).query("reading == 'relative'").set_index("class")
    assert list(energies.index) == list(classification.CLASSES)
    assert energies.loc["n-gram", "last_three_1"] == pytest.approx(1.0)
    words = rows_of("keywords", tables)
    assert words["class"].value_counts().to_dict() == {"bag-of-words": 6, "n-gram": 6, "random": 6}
    assert set(words.loc[words["class"] == "random", "in_class"]) == {""}
    readings = rows_of("constructed_neurons", tables)
    assert len(readings) == 12
    assert readings["worst_1"].is_monotonic_decreasing
    changed = rows_of("variations", tables)
    base = changed[(changed["corpus"] == "stories") & (changed["context"] == 15) & (changed["d_mlp"] == 512)]
    assert sorted(zip(base["weight_decay"], base["embedding_std"], strict=True)) == [
        (0.01, 0.02), (0.01, 1.0), (0.5, 0.02), (0.5, 1.0)
    ]  # fmt: skip
    assert (changed["seeds"] == len(SEEDS)).all()


def columns(modules: Iterable) -> set[str]:
    return {name for module in modules for name in module.COLUMNS}


def test_no_measure_keeps_weights_of_all_neurons() -> None:
    """Results are in git: a picture needs thousands of numbers, not the layer's millions."""
    for module in OF_NEURONS:
        assert len(module.measure(trained())) < 5000, module.__name__
    assert not any("weight" in name for name in columns(set(OF_NEURONS) - {example_neurons}))
