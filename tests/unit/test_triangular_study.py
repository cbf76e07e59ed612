"""Study 004: its plan, its rules, what no training alters, figures and tables, and the corpora that it brings."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from allmlp import corpora, params, plan, studies, tokenizers
from allmlp.corpora import CorpusSpec, gutenberg, taught, vocabulary
from allmlp.errors import UserError
from allmlp.plan import Context
from allmlp.report import style
from allmlp.run import Run
from allmlp.studies.rules import NotPlannedError
from allmlp.studies.triangular import verdicts
from allmlp.studies.triangular.measures import causality, learning, parameter_counts, reach
from allmlp.studies.triangular.parts import RATES, SHAKESPEARE
from allmlp.studies.triangular.printed import OF_THE_PAPER, PRINTED
from allmlp.studies.triangular.runs import runs as triangular_runs
from allmlp.studies.triangular.runs.settings import PUBLISHED, Settings
from allmlp.studies.triangular.runs.settings import tested as held_out_steps  # pytest takes test* for a test
from allmlp.training import relatives
from tests.conftest import PROJECT

SEEDS = range(6)


@pytest.fixture(scope="module")
def parameters() -> params.Params:
    return params.load(PROJECT / "params.yaml")


def planned(parameters: params.Params, scale: str) -> list[Run]:
    settings = parameters.settings["triangular", scale]
    return studies.module("triangular", "runs").runs(settings, Context(parameters, PROJECT, "cpu"))


@pytest.mark.parametrize("scale", params.SCALES)
def test_every_run_comes_after_those_that_it_needs_and_one_seed_chooses_all_rates(parameters, scale) -> None:
    runs, before = planned(parameters, scale), {}
    for run in runs:
        assert set(run.needs) <= set(before), run.id
        before[run.id] = run
    settings: Settings = parameters.settings["triangular", scale]
    judged = [run for run in runs if run.labels["part"] in ("comparison", "pretraining", "alone", "fine-tuning")]
    for run in judged:
        searched = [before[one] for one in run.search]
        assert len(searched) == (len(settings.search.learning_rates) if settings.search else 0)
        own = {
            key: value for key, value in run.hyperparameters.items() if key != "discount"
        }  # it has no search of its own
        assert all(one.hyperparameters == own for one in searched)
        assert {one.steps for one in searched} <= {settings.search.steps if settings.search else 0}
        assert all(one.seed not in settings.seeds and one.tokens == run.tokens for one in searched)
        assert all(one.continues == run.continues for one in searched)


def test_fine_tuning_goes_on_from_the_pre_trained_model_of_its_seed(parameters) -> None:
    runs = {run.id: run for run in planned(parameters, "workstation")}
    tuned = [run for run in runs.values() if run.labels["part"] == "fine-tuning"]
    assert len(tuned) == 5
    for run in tuned:
        parent = runs[str(run.parent)]
        assert run.continues
        assert (parent.labels["part"], parent.seed) == ("pretraining", run.seed)
        assert parent.hyperparameters == run.hyperparameters
        assert parent.tokens != run.tokens
    alone = [run for run in runs.values() if run.labels["part"] == "alone"]
    assert {run.steps for run in alone} == {run.steps for run in tuned}
    assert all(run.parent is None for run in alone)


def test_fine_tuning_without_the_run_that_it_goes_on_from_says_how_to_make_it(
    parameters, tmp_path, monkeypatch
) -> None:
    runs = {run.id: run for run in planned(parameters, "workstation")}
    tuned = next(run for run in plan._related(runs, "") if run.labels["part"] == "fine-tuning")
    monkeypatch.chdir(tmp_path)
    said = rf"^{tuned.id} needs {tuned.parent}, its parent \(and 4 more\), which is not trained here. Train it first: "
    with pytest.raises(UserError, match=rf"{said}`allmlp train {tuned.parent} {' '.join(tuned.search)}`, or fetch it"):
        relatives.require_relatives([tuned])


def test_a_second_text_in_other_tokens_is_refused_by_the_plan(parameters) -> None:
    settings: Settings = parameters.settings["triangular", "smoke"]
    context = Context(parameters, PROJECT, "cpu")
    for corpus in ("stories-bytes", "classics-and-shakespeare"):
        second = settings.fine_tuning.model_copy(update={"corpus": corpus})
        with pytest.raises(
            UserError, match=f"corpus is '{corpus}', whose .* `tokenizer: {{kind: shared, corpus: stories-c"
        ):
            triangular_runs(settings.model_copy(update={"fine_tuning": second}), context)
    bytes_of = {
        "corpus": "stories-bytes",
        "fine_tuning": settings.fine_tuning.model_copy(update={"corpus": "wikitext-bytes"}),
    }
    assert triangular_runs(settings.model_copy(update=bytes_of), context), "bytes are bytes, whatever the text"


def test_the_paper_s_scale_has_the_printed_sizes_and_rate(parameters) -> None:
    published = next(run for run in planned(parameters, "paper") if run.labels["variant"] == PUBLISHED)
    assert published.hyperparameters == {"vocabulary": 1092, **PRINTED._asdict()}
    assert published.optimiser["learning_rate"] == 3e-5
    assert published.task_parameters["batch_size"] == 64
    assert published.optimiser["weight_decay"] == 0
    assert published.optimiser["schedule"] == "constant"


def test_held_out_losses_are_taken_eight_times_in_the_first_quarter() -> None:
    steps = held_out_steps(400)
    assert len([step for step in steps if step <= 100]) == 8
    assert max(steps) < 400
    assert held_out_steps(8) == (1, 2, 3, 4, 5, 6, 7)


LONGER = {"pretraining": {}, "fine_tuning": {"corpus": "stories-dealt"}}


@pytest.mark.parametrize("scale", ["workstation", "gpu", "paper"])
def test_what_is_judged_has_five_seeds(parameters, scale) -> None:
    settings: Settings = parameters.settings["triangular", scale]
    needed = {row["needs"]["seeds"] for row in studies.ledger("triangular") if row["needs"]["scale"] != "smoke"}
    assert settings.pretraining
    assert settings.fine_tuning
    for seeds in (settings.seeds, settings.pretraining.seeds, settings.fine_tuning.seeds):
        assert len(seeds) >= max(needed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"compared": ["two-averagin"]}, "two-averaging"),
        ({"variants": {PUBLISHED: {"searched_as": "none"}, "one-averaging": {}, "one-plain": {}}}, "none"),
        ({"pretraining": None}, "give both, or neither"),
        ({"pretraining": {"seeds": [1], "steps": 3}}, r"seeds \[0\] are not among"),
        ({"seeds": [0, 100]}, r"search.seed\n.* one of the evaluated seeds \(0, 100\)"),
        ({"pretraining": {"seeds": [0, 100], "steps": 3}}, r"search.seed\n.* one of the evaluated seeds"),
        (
            {part: {"seeds": [0, 100], "steps": 3, **more} for part, more in LONGER.items()},
            r"search.seed\n.* one of the evaluated seeds",
        ),
    ],
)
def test_settings_that_fit_nothing_are_refused(parameters, change, said) -> None:
    value = parameters.settings["triangular", "smoke"].model_dump()
    with pytest.raises(ValidationError, match=said):
        Settings.model_validate({**value, **change})


def test_what_no_training_alters() -> None:
    rows = causality.measure(None)  # type: ignore[arg-type]
    assert list(rows.columns) == list(causality.COLUMNS)
    assert (rows[["leak_1", "masked_gradient_1", "time_biases", "above_diagonal_1"]] == 0).all(axis=None)
    assert rows["in_sequence_1"].max() < 1e-10
    counts = parameter_counts.measure(None).set_index("reading")["parameters"]  # type: ignore[arg-type]
    assert counts.iloc[0] == 36_297_036


def test_the_published_code_hears_seventeen_tokens_back_or_none() -> None:
    rows = reach.measure(None)  # type: ignore[arg-type]
    assert list(rows.columns) == list(reach.COLUMNS)
    farthest = rows[rows["heard"]].groupby(["form", "context"])["tokens_back"].max()
    assert farthest["reshape", 430] == PRINTED.n_blocks
    assert farthest["transpose", 430] == 429
    assert farthest["reshape", 64] == 0


def test_early_is_the_first_quarter_and_a_diverged_run_has_no_loss(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(learning, "tokens_per_character", lambda tokens: 0.5)
    losses = pd.Series(np.arange(40.0)).where(pd.Series(range(40)).isin([0, 5, 10, 20]))
    log = pd.DataFrame({"step": range(40), "validation_loss": losses})
    run = SimpleNamespace(steps=40, tokens="x")
    for diverged, early, end in ((False, 7.5, 2.0), (True, np.nan, np.nan)):
        ending = {"diverged": diverged, "validation_loss": 2.0, "steps_done": 40}
        trained = SimpleNamespace(log=log, ending=ending, run=run, learning_rate=1e-3, timing=lambda: {"seconds": 4.0})
        row = learning.measure(trained).iloc[0]  # type: ignore[arg-type]
        assert row["early_nats"] == pytest.approx(early, nan_ok=True)
        assert row["end_nats_per_character"] == pytest.approx(end / 2, nan_ok=True)
        assert row["step_seconds"] == pytest.approx(0.1)


def learnt(early: dict[str, float], part: str = "comparison", corpus: str = "stories-chunks") -> pd.DataFrame:
    """`learning` of six seeds: variant -> early loss; the loss at the end is two nats lower."""
    rows = [
        {"run": f"{name}-{seed}", "seed": seed, "part": part, "variant": name, "corpus": corpus}
        | {"early_nats": loss + 0.3 * seed + 0.004 * np.sin(7 * seed + len(name)), "diverged": False}
        for name, loss in early.items()
        for seed in SEEDS
    ]
    found = pd.DataFrame(rows).assign(learning_rate=1e-3, step_seconds=0.05)
    return found.assign(end_nats=found["early_nats"] - 2, end_nats_per_character=(found["early_nats"] - 2) / 2)


SEARCHED = pd.DataFrame({"run": ["two-averaging-search-rate0.004"], "part": "search"})


def judged(claim: str, **tables: pd.DataFrame):
    tables = {"cost": SEARCHED, **tables}
    row = next(row for row in studies.ledger("triangular") if row["id"] == claim)
    evidence = SimpleNamespace(table=lambda name: tables[name].copy(), margin=row["margin"], paper=row["paper"])
    return getattr(verdicts, row["test"])(evidence)


BASE = {"one-averaging": 5.0, "one-plain": 5.3, "two-averaging": 5.0, "two-plain": 5.05, "one-discounted": 5.0}
FULL = {**BASE, "gelu": 4.9, "relu": 4.9, "leaky-relu": 5.0, "reshape": 5.4}


@pytest.mark.parametrize(
    ("claim", "change", "verdict"),
    [
        ("004-2", {}, "reproduced"),
        ("004-2", {"one-plain": 5.0}, "contradicted"),
        ("004-2", {"one-plain": 5.05}, "undecided"),
        ("004-4", {}, "partly"),  # the averaging mask leaves nothing for a second triangle to gain
        ("004-4", {"two-averaging": 4.8}, "reproduced"),
        ("004-5", {}, "contradicted"),
        ("004-5", {"gelu": 5.0}, "reproduced"),
        ("004-own-1", {}, "reproduced"),
        ("004-own-1", {"reshape": 5.0}, "contradicted"),
        ("004-own-2", {}, "reproduced"),
        ("004-own-2", {"two-plain": 4.8}, "contradicted"),
    ],
)
def test_rules_on_variants(claim, change, verdict) -> None:
    assert judged(claim, learning=learnt({**FULL, **change})).verdict == verdict


@pytest.mark.parametrize("claim", ["004-2", "004-4", "004-5", "004-own-1", "004-own-2"])
@pytest.mark.parametrize("without", [SEARCHED.iloc[:0], SEARCHED.assign(part="comparison"), pd.DataFrame()])
def test_a_rule_on_rates_that_were_searched_for_is_not_applied_to_one_rate_for_all(claim, without) -> None:
    row = next(row for row in studies.ledger("triangular") if row["id"] == claim)
    if "same budget" not in " ".join(row["statistic"].split()):
        assert judged(claim, learning=learnt(FULL), cost=without).verdict != "undecided"
        return
    with pytest.raises(NotPlannedError, match="needs a search of learning rates, which is not planned"):
        judged(claim, learning=learnt(FULL), cost=without)


def test_captions_say_how_rates_were_set_at_every_scale() -> None:
    for kind, names in (("figures", ("differences", "loss_curves", "fine_tuning")), ("tables", ("variants",))):
        for name in names:
            assert RATES in studies.module("triangular", f"{kind}.{name}").CAPTION
    for kind in ("figures", "tables"):
        for name in studies.names("triangular", kind):
            assert "published model" not in studies.module("triangular", f"{kind}.{name}").CAPTION


def test_a_discount_is_equal_in_loss_and_a_tie_in_time_is_no_gain() -> None:
    found = judged("004-3", learning=learnt(FULL))
    assert found.parts[0].verdict == "reproduced"
    assert found.parts[1].verdict != "reproduced"


def test_a_variant_that_is_not_planned_or_diverged_is_said() -> None:
    with pytest.raises(NotPlannedError, match="needs the variants one-plain, which are not planned"):
        judged("004-2", learning=learnt({"one-averaging": 5.0}))
    rows = learnt(FULL)
    rows.loc[(rows["variant"] == "one-plain") & (rows["seed"] == 3), ["early_nats", "end_nats"]] = np.nan
    assert judged("004-2", learning=rows).verdict == "undecided"


def written(copied: int, corpus: str) -> pd.DataFrame:
    rows = [
        {"run": f"{part}-{seed}", "seed": seed, "part": part, "corpus": corpus, "sample": sample, "prompt": ""}
        | {"text": "To be, or not", "copied_words": copied + seed % 2, "copied_from": 3, "copied_to": 9}
        for part in ("pretraining", "alone", "fine-tuning")
        for seed in SEEDS
        for sample in (0, 1, OF_THE_PAPER)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("corpus", SHAKESPEARE)
def test_fine_tuning_is_judged_on_shakespeare_in_two_parts(corpus) -> None:
    alone, tuned = learnt({PUBLISHED: 5.5}, "alone", corpus), learnt({PUBLISHED: 5.0}, "fine-tuning", corpus)
    rows = pd.concat([alone, tuned], ignore_index=True)
    assert judged("004-7", learning=rows, samples=written(5, corpus)).verdict == "reproduced"
    found = judged("004-7", learning=rows, samples=written(40, corpus))
    assert [part.verdict for part in found.parts] == ["reproduced", "contradicted"]
    with pytest.raises(NotPlannedError, match="needs runs on shakespeare or gutenberg-shakespeare"):
        judged("004-7", learning=rows.assign(corpus="stories-dealt"), samples=written(5, corpus))


def test_counts_and_causality_are_judged_exactly() -> None:
    counts = parameter_counts.measure(None)  # type: ignore[arg-type]
    assert judged("004-1", parameter_counts=counts).verdict == "reproduced"
    rows = causality.measure(None)  # type: ignore[arg-type]
    assert judged("004-8", causality=rows).verdict == "reproduced"
    assert judged("004-8", causality=rows.assign(leak_1=1e-300)).verdict == "partly"


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    ends, parts = learnt(FULL), []
    for part, corpus in (
        ("comparison", "stories-chunks"),
        ("alone", "stories-dealt"),
        ("fine-tuning", "stories-dealt"),
    ):
        for name in FULL if part == "comparison" else (PUBLISHED,):
            for seed in SEEDS:
                steps = np.array([0, 10, 50, 100, 400])
                held_out = 3 + 4 * np.exp(-steps / 80) + 0.05 * seed + 0.01 * len(name)
                rows = pd.DataFrame({"step": steps, "loss_nats": held_out, "validation_nats": held_out})
                rows = rows.assign(run=f"{part}-{name}-{seed}", seed=seed, part=part, variant=name, corpus=corpus)
                parts.append(rows.assign(validation_nats_per_character=held_out / 2))
    curves = pd.concat(parts, ignore_index=True)
    marks = [
        {"run": f"r{seed}", "seed": seed, "step": step, "part": "pretraining"}
        | dict.fromkeys(("word_share_1", "pair_share_1", "four_word_share_1"), min(1.0, step / 2000))
        | {"known_word_characters": 3.0, "distinct_pairs": 50 + step, "sentence_ends": 9.0, "context_nats": 0.01 * seed}
        for seed in SEEDS
        for step in (0, 100, 1000, 2000)
    ]
    paper = pd.DataFrame(
        [(row["id"], key, value) for row in studies.ledger("triangular") for key, value in row["paper"].items()],
        columns=["claim", "key", "value"],
    )
    cost = [
        {"run": f"gelu-x-search{ending}-rate{rate:g}", "seed": 100, "part": "search", "variant": "gelu", "corpus": "x"}
        | {"learning_rate": rate, "validation_nats": 5 + abs(np.log10(rate) + 2.5), "steps_done": 100}
        | {"diverged": rate == 3e-3}
        for rate in (1e-3, 3e-3, 4e-3)
        for ending in ("", "-continued")
    ]
    return {
        "reach": reach.measure(None),  # type: ignore[arg-type]
        "parameter_counts": parameter_counts.measure(None),  # type: ignore[arg-type]
        "learning": ends,
        "loss_curve": curves,
        "milestones": pd.DataFrame(marks),
        "samples": written(5, "shakespeare"),
        "cost": pd.DataFrame(cost),
        "paper": paper,
    }


def of(tables: dict[str, pd.DataFrame], module) -> dict[str, pd.DataFrame]:
    """The tables as the report gives them: a module's PARTS only."""
    wanted = getattr(module, "PARTS", None)
    return {
        key: rows[rows["part"].isin(wanted)].copy() if wanted and "part" in rows else rows.copy()
        for key, rows in tables.items()
    }


@pytest.mark.parametrize("name", studies.names("triangular", "figures"))
def test_figures_have_the_same_bytes_each_time_for_many_seeds_and_for_one(name, tables) -> None:
    module, drawn = studies.module("triangular", f"figures.{name}"), []
    one = {key: rows[rows["seed"] == 0] if "seed" in rows else rows for key, rows in tables.items()}
    for rows in (tables, tables, one):
        buffer = io.BytesIO()
        with matplotlib.rc_context(style.RC):
            module.draw(of(rows, module)).savefig(buffer, format="svg", metadata={"Date": None})
        drawn.append(buffer.getvalue())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) < 300_000


def test_tables_say_what_was_measured(tables) -> None:
    found = {
        name: studies.module("triangular", f"tables.{name}").tabulate(
            of(tables, studies.module("triangular", f"tables.{name}"))
        )
        for name in studies.names("triangular", "tables")
    }
    assert found["parameter_counts"]["parameters"].iloc[0] == 36_297_036
    assert len(found["variants"]) == len(FULL)
    assert found["milestones"].set_index("step").loc[1000, "paper_says"] == "meaningful words"
    shown = found["samples"].set_index("part")
    assert shown.loc["fine-tuning", "written"] == "To ⟦be, or⟧ not"
    assert shown.loc["fine-tuning", "samples"] == 2 * len(SEEDS)
    assert shown.loc["the paper's Figure 6", "samples"] == 1
    assert found["learning_rates"]["chosen"].tolist() == [4e-3, 4e-3]
    assert sorted(found["learning_rates"]["begins"]) == ["fresh", "pre-trained"]


def test_a_shared_tokenizer_gives_both_corpora_the_same_types(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 20)
    (tmp_path / "b.txt").write_text("the mat! " * 20)
    local = {"source": "local", "passage": 100}
    specs = taught(
        {
            "a": CorpusSpec.model_validate(
                {**local, "files": "a.txt", "tokenizer": {"kind": "chunks", "length": 2, "vocabulary": 40}}
            ),
            "b": CorpusSpec.model_validate({**local, "files": "b.txt", "tokenizer": {"kind": "shared", "corpus": "a"}}),
        }
    )
    assert vocabulary("b", specs["b"], tmp_path) == vocabulary("a", specs["a"], tmp_path) == 40
    before = corpora.token_id("b", specs["b"], tmp_path)
    (tmp_path / "a.txt").write_text("another text altogether " * 20)
    (tmp_path / "work/sources.json").unlink(missing_ok=True)
    assert corpora.token_id("b", specs["b"], tmp_path) != before, "its tokens follow the other corpus's text"
    with pytest.raises(UserError, match=r"corpora\.b\.tokenizer: no corpus 'c' of text"):
        taught({"b": specs["b"].model_copy(update={"tokenizer": tokenizers.Shared(corpus="c"), "teacher": None})})


def test_a_declared_vocabulary_keeps_the_commonest_chunks_and_leaves_rare_ones_out() -> None:
    fitted = tokenizers.fit(tokenizers.Chunks(length=2, vocabulary=4), ["ababab cdcd xy"])
    assert (fitted.vocabulary, fitted.eod, len(fitted.token_strings())) == (4, 3, 4)
    assert fitted.decode(fitted.encode_batch(["abab" * 10 + "xy"])[0]) == "abab" * 10
    with pytest.raises(UserError, match="do not occur in the text that it was fitted to"):
        fitted.encode_batch(["!?!?!?ab"])
    wide = tokenizers.fit(tokenizers.Chunks(length=2, vocabulary=50), ["abab"])
    assert (wide.vocabulary, wide.eod) == (50, 49)


def test_gutenberg_s_files_are_pinned_by_the_first_download_and_later_changes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, end = "*** START OF THE PROJECT ***", "*** END OF THE PROJECT ***"
    served = {"text": f"\ufeffA title\r\n{start}\r\nIt’s “so”—all.\r\n{end}\r\nlicence"}
    url = gutenberg.URL.format(book=7)

    def fetch(asked: str, sha256: str | None, root: Path) -> Path:
        path = root / "7.txt"
        path.write_bytes(served["text"].encode())
        return path

    monkeypatch.setattr(gutenberg, "fetch", fetch)
    (tmp_path / gutenberg.LOCK).write_text(json.dumps({url: None}))
    corpus = gutenberg.GutenbergCorpus(books=[7])
    assert list(corpus.documents(tmp_path)) == ['It\'s "so"--all.']
    pinned = gutenberg.read_lock(tmp_path)[url]
    assert pinned is not None
    assert list(corpus.documents(tmp_path)) == ['It\'s "so"--all.']
    served["text"] = served["text"].replace("all", "none")
    with pytest.raises(UserError, match=f"gutenberg.lock says {pinned}: it was edited since"):
        list(corpus.documents(tmp_path))
    served["text"] = "not a book"
    (tmp_path / gutenberg.LOCK).write_text("{}")
    with pytest.raises(UserError, match="not a book of Gutenberg"):
        list(corpus.documents(tmp_path))


def test_every_book_of_the_paper_s_scale_has_a_pin(parameters) -> None:
    pins = json.loads((PROJECT / gutenberg.LOCK).read_text())
    for name in ("gutenberg-classics-and-shakespeare", "gutenberg-classics", "gutenberg-shakespeare"):
        source = parameters.corpora[name].source
        assert isinstance(source, gutenberg.GutenbergCorpus)
        assert {gutenberg.URL.format(book=book) for book in source.books} <= set(pins)


def test_real_novels_and_plays_are_read_in_shared_tokens(shared_data: Callable[[str], Path]) -> None:
    plays = shared_data("classics/tinyshakespeare.txt.xz")
    source = {"source": "local", "files": [str(plays)], "passage": 8000, "limit": 20}
    spec = CorpusSpec.model_validate({**source, "tokenizer": {"kind": "chunks", "length": 2, "vocabulary": 1092}})
    fitted = tokenizers.fit(spec.fitted[1], spec.documents(Path()))
    text = next(iter(spec.documents(Path())))
    found = fitted.decode(fitted.encode_batch([text])[0])
    assert len(found) > 0.95 * len(text)
    assert "First Citizen" in found
