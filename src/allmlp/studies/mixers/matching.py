"""Rows of the matchers' measurements by setting: one value per seed, on each padding side."""

import pandas as pd

from allmlp.judging.rules import NotPlannedError
from allmlp.studies.mixers.matcher_settings import ALL, BASE, LABELS, SMALL, WIDE, Setting

SIDES = ("left", "right")
POSITIONS = {"before_last": "before the end", "mean": "mean over the text"}  # names in figures


def setting_rows(rows: pd.DataFrame, setting: Setting) -> pd.DataFrame:
    """The rows of one setting. NotPlannedError if there are none."""
    found = rows
    if len(rows):  # one choice of rows: each copies all columns
        of_setting = rows["training_pairs"].ne(ALL).eq(setting.fewer)
        for field, column in LABELS.items():
            of_setting &= rows[column].eq(getattr(setting, field))
        found = rows[of_setting]
    if found.empty:
        raise NotPlannedError(f"needs {setting}, which is not planned")
    return found


def usual_matchers(rows: pd.DataFrame) -> pd.DataFrame:
    """The matchers that most figures show: mixers on all pairs and the study's width, at positions of POSITIONS."""
    of_mixers = rows["model"].eq("matcher-mixer") & rows["position"].isin(POSITIONS)
    return rows[of_mixers & rows["training_pairs"].eq(ALL) & rows["size"].eq(BASE)]


def printed_settings(rows: pd.DataFrame, *settings: Setting) -> list[Setting]:
    """The settings of the article's own size if they are planned: wider embedders, and its smaller set of pairs."""
    for changes in ({"size": WIDE, "fewer": True}, {"size": WIDE}):
        try:
            tried = [setting._replace(**changes) for setting in settings]
            for setting in tried:
                setting_rows(rows, setting)
            return tried
        except NotPlannedError:
            continue
    return list(settings)


def values_by_side(rows: pd.DataFrame, setting: Setting, column: str) -> dict[str, pd.Series]:
    """Padding side -> the values of one setting by seed, for the planned sides."""
    found = setting_rows(rows, setting).assign(seed=lambda of: of["seed"].astype(int))
    sides = {side: found[found["padding"].eq(side)].set_index("seed")[column].astype(float) for side in SIDES}
    return {side: values.sort_index() for side, values in sides.items() if len(values)}


def differences(rows: pd.DataFrame, first: Setting, second: Setting, column: str) -> dict[str, pd.Series]:
    """Padding side -> `column` of the first setting minus that of the second, paired by seed, if both are planned.

    A seed that only one of them has counts as NaN. Raises NotPlannedError where no side has both.
    """
    one, other = values_by_side(rows, first, column), values_by_side(rows, second, column)
    found = {side: one[side] - other[side] for side in one if side in other}
    if not found:
        raise NotPlannedError(f"needs {first} and {second} on one padding side, which is not planned")
    return found


def gains(rows: pd.DataFrame, setting: Setting) -> dict[str, pd.Series]:
    """Padding side -> chance minus the lowest held-out loss (nats), by seed: 0 where nothing was learnt."""
    return values_by_side(rows.assign(gain_nats=rows["chance_nats"] - rows["lowest_nats"]), setting, "gain_nats")


READERS = {  # name, in the order of a figure -> what, and the normalisation of a distance
    "matcher": ("matcher", ""),
    "probe: text": ("text", ""),
    "probe: query": ("query", ""),
    "probe: both": ("both", ""),
    "probe: map": ("map", ""),
    "cosine": ("cosine", "none"),
    "L1": ("l1", "none"),
    "L2": ("l2", "none"),
}


def readings(retrieval: pd.DataFrame, distances: pd.DataFrame, embedding_probes: pd.DataFrame) -> pd.DataFrame:
    """run, seed, labels, candidates, reader, top_1: one row per run and reader, of the largest context up to SMALL."""
    matched = retrieval[retrieval["run"].isin(distances["run"])].assign(what="matcher", normalisation="")
    probed = embedding_probes.assign(normalisation="").rename(columns={"probe": "what"})
    near = distances.rename(columns={"metric": "what"})
    rows = usual_matchers(pd.concat([matched, probed, near], ignore_index=True))
    rows = rows[rows["context"].eq(rows.loc[rows["context"].le(SMALL), "context"].max())]
    reader = {value: name for name, value in READERS.items()}
    named = [reader.get(key, "") for key in zip(rows["what"], rows["normalisation"], strict=True)]
    return rows.assign(reader=named).query("reader != ''")
