"""Figures of one study: each drawn only where its rows, its file or the style changed; the same bytes each time."""

import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib

from allmlp import paths, recipes, store
from allmlp.report import evidence, exhibits, saving, selection, style
from allmlp.report.evidence import Evidence
from allmlp.report.exhibits import Exhibit

FIGURES = Path("results/figures")


def _digest(exhibit: Exhibit, found: Evidence) -> str:
    """Of all that a figure's bytes depend on: its rows, its code, how it is saved, the paper's numbers."""
    rows = {
        measure: store.of(found.study, measure).digest(one.key for one in found.held(measure).values())
        for measure in exhibit.measures
    }
    labels = {
        run: found.content["runs"][run]["labels"] for measure in exhibit.measures for run in found.measured(measure)
    }
    code = [recipes.fingerprint(exhibit.make.__module__), recipes.fingerprint(saving.__name__)]
    return paths.digest([rows, labels, code, matplotlib.__version__, evidence.printed(found.study)], 16)


def _entry(exhibit: Exhibit, found: Evidence) -> dict[str, Any]:
    runs = sorted({run for measure in exhibit.measures for run in found.measured(measure)})
    return {
        **exhibit.about(),
        "scale": found.scale,
        "recorded": found.recorded,
        "runs": runs,
        "seeds": found.seeds_of(exhibit.measures[0]),
        "digest": _digest(exhibit, found),
        **evidence.extension(found),
    }


def _is_there(stem: Path) -> bool:
    return all(stem.with_name(f"{stem.name}.{suffix}").is_file() for suffix in saving.SUFFIXES)


def _draw(study: str, kind: str, stem: Path, found: Evidence, runs: list[str]) -> None:
    with matplotlib.rc_context(style.RC):
        figure = found.shown(exhibits.of(study, "figures")[kind])
    saving.save(figure, stem, runs)


def _draw_all(jobs: list[tuple[str, str, Path, Evidence, list[str]]]) -> None:
    """Side by side: a figure takes about a second of one core."""
    if len(jobs) < 2:
        for job in jobs:
            _draw(*job)
        return
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count() or 1)) as pool:
        for done in [pool.submit(_draw, *job) for job in jobs]:
            done.result()


def draw(study: str) -> list[str]:
    """Draw what changed of a study's figures, remove what is no longer one. Returns what was drawn."""
    folder = FIGURES / study
    folder.mkdir(parents=True, exist_ok=True)
    index_file = folder / "index.json"
    before = json.loads(index_file.read_text(encoding="utf-8")) if index_file.is_file() else {}
    content, index = selection.read(), {}
    jobs: list[tuple[str, str, Path, Evidence, list[str]]] = []
    for kind, exhibit in exhibits.of(study, "figures").items():
        for suffix, found in evidence.sources(study, exhibit, content).items():
            name = f"{kind}{suffix}"
            index[name] = _entry(exhibit, found)
            if not _is_there(folder / name) or before.get(name, {}).get("digest") != index[name]["digest"]:
                jobs.append((study, kind, folder / name, found, index[name]["runs"]))
    _draw_all(jobs)
    for path in folder.iterdir():
        if path != index_file and path.stem not in index:
            path.unlink()
    paths.write_whole(index_file, json.dumps(index, indent=1) + "\n")
    return [stem.name for _, _, stem, _, _ in jobs]
