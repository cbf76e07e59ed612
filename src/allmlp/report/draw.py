"""Figures of one study: each drawn only where its rows, its file or the style changed; the same bytes each time."""

import json
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib

from allmlp import paths, recipes, studies
from allmlp.report import evidence, saving, style
from allmlp.report.evidence import Evidence

FIGURES = Path("results/figures")


def _digest(module: ModuleType, found: Evidence) -> str:
    """Of all that a figure's bytes depend on: its rows, its code, how it is saved, the paper's numbers."""
    rows = {
        measure: {run: entry["sha256"] for run, entry in found.files(measure).items()} for measure in module.MEASURES
    }
    labels = {
        run: found.content["runs"][run]["labels"] for measure in module.MEASURES for run in found.measured(measure)
    }
    paper = evidence.paper_values(found.study).astype(str).to_dict("records")
    code = [recipes.fingerprint(module.__name__), recipes.fingerprint(saving.__name__)]
    return paths.digest([rows, labels, code, matplotlib.__version__, paper], 16)


def _entry(name: str, module: ModuleType, found: Evidence) -> dict[str, Any]:
    runs = sorted({run for measure in module.MEASURES for run in found.measured(measure)})
    about = {"title": module.TITLE, "caption": module.CAPTION, "paper": module.PAPER, "claims": module.CLAIMS}
    return {
        **about,
        "scale": found.scale,
        "recorded": found.recorded,
        "runs": runs,
        "seeds": found.seeds_of(module.MEASURES[0]),
        "digest": _digest(module, found),
        **evidence.extension(found),
    }


def _is_there(stem: Path) -> bool:
    return all(stem.with_name(f"{stem.name}.{suffix}").is_file() for suffix in saving.SUFFIXES)


def _draw(study: str, kind: str, stem: Path, found: Evidence, runs: list[str]) -> None:
    module = studies.module(study, f"figures.{kind}")
    with matplotlib.rc_context(style.RC):
        figure = module.draw(found.tables(module.MEASURES))
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
    content, index = evidence.selected(), {}
    jobs: list[tuple[str, str, Path, Evidence, list[str]]] = []
    for kind in studies.names(study, "figures"):
        module = studies.module(study, f"figures.{kind}")
        for suffix, found in evidence.sources(study, module, content).items():
            name = f"{kind}{suffix}"
            index[name] = _entry(name, module, found)
            if not _is_there(folder / name) or before.get(name, {}).get("digest") != index[name]["digest"]:
                jobs.append((study, kind, folder / name, found, index[name]["runs"]))
    _draw_all(jobs)
    for path in folder.iterdir():
        if path != index_file and path.stem not in index:
            path.unlink()
    paths.write_whole(index_file, json.dumps(index, indent=1) + "\n")
    return [stem.name for _, _, stem, _, _ in jobs]
