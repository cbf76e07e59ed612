"""Every command in README and docs: those that can run here in seconds do, word for word; others say why not.

Where the whole command would train for minutes or write to what git has, `-n` or `--help` stands behind its own words.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import PROJECT, call

PROGRAMS = ("make", "snakemake", "allmlp", "dvc", "git", "pip", "python", "source")
MINUTES, NETWORK = "minutes of work; its parts have tests of their own", "needs a network"
ELSEWHERE = "on another machine; tests of bundles carry one there"
RUN = {  # command -> the words behind its own
    "make reproduce": ("-n",),
    "make test": ("-n",),
    "make test-all": ("-n",),
    "make bench": ("-n",),
    "make reproduce PARAMS=my.yaml": ("-n",),
    'make reproduce WITH="--against v1"': ("-n",),
    "make faults": ("-n",),
    "make mutants": ("-n",),
    "make mutants MODULE=loop": ("-n",),
    "make fuzz": ("-n",),
    "make fuzz MINUTES=60": ("-n",),
    "make audit": ("-n",),
    "make triton": ("-n",),
    "make lowest": ("-n",),
    "make gpu-hour MINUTES=60 OUT=hour BUNDLE=hour.bundle": ("-n",),
    "allmlp pack hour.bundle --scale gpu --device cuda --hours 1 --max-mb 60": ("--help",),
    "make docs": ("-n",),
    "make install": ("-n",),
    "make install PYTHON=python3.13": ("-n",),
    "allmlp --help": (),
    "allmlp audit": ("--help",),
    "allmlp try my_mixer.py": ("--help",),
    "allmlp try my_mixer.py --scale laptop": ("--help",),
    "allmlp plan": (),
    "allmlp plan --scale long": (),
    "allmlp plan --scale gpu": (),
    "allmlp power --scale gpu": ("--help",),
    "allmlp power --scale paper": ("--help",),
    "allmlp plan --params my.yaml --study triangular": ("--help",),
    "allmlp plan --scale paper": (),
    'allmlp plan --scale paper --devices 2 --on "RTX 3060" --price 0.2': (),
    "allmlp plan --scale paper --devices 8 --disk 85": (),
    "allmlp plan --scale paper --budget 100h": (),
    "allmlp plan --runs --study crossover": (),
    "allmlp plan --runs --params my.yaml": (),
    'allmlp generate RUN --params my.yaml --prompt "..."': ("--help",),
    "allmlp plan --open --study crossover --scale workstation": (),
    "allmlp plan --diff": (),
    "allmlp plan --diff --params my.yaml": (),
    "allmlp plan --why RUN": ("--help",),
    "allmlp plan --why RUN --params my.yaml": ("--help",),
    "allmlp doctor": ("--help",),
    "allmlp schema": (),
    "allmlp show RUN": ("--help",),
    'allmlp generate RUN --prompt "Once upon a time"': ("--help",),
    "allmlp export RUN --format hf": ("--help",),
    "allmlp export RUN --format tensorboard": ("--help",),
    "allmlp report": ("--help",),
    "allmlp report --export verdicts": ("--help",),
    "allmlp diff STATE": ("--help",),
    "allmlp diff HEAD own/my": ("--help",),
    "allmlp power --scale long": ("--help",),
    "allmlp advance": ("--help",),
    "allmlp advance --minutes 60": ("--help",),
    "allmlp train": ("--help",),
    "allmlp advance --minutes M": ("--help",),
    "allmlp pack open.bundle": ("--help",),
    "allmlp keep --push": ("--help",),
    "allmlp compact": ("--help",),
    "allmlp select": ("--help",),
    "allmlp keep": ("--help",),
    "allmlp keep RUN": ("--help",),
    "allmlp train RUN": ("--help",),
    "allmlp render --pdf": ("--help",),
    "allmlp draw crossover --png": ("--help",),
    "allmlp check": (),
    "allmlp check --fix": (),
    "allmlp check --fix --same-behaviour MODULE": ("--help",),
    "allmlp check --fix --same-behaviour CLAIM": ("--help",),
    "allmlp check --fix --new-rule CLAIM": ("--help",),
    "allmlp tokenize tinystories": ("--help",),
    "snakemake": ("-n",),
    "snakemake --unlock": (),
    "snakemake --cores all --resources gpu=4": ("-n",),
    "snakemake --cores all --resources gpu=4 --config scale=gpu": ("-n",),
    "snakemake --cores all --config study=language scale=smoke": ("-n",),
    "allmlp prune": (),
    "snakemake --cores all --config scale=workstation": ("-n",),
    "snakemake --cores all --config study=language": ("-n",),
    "snakemake --cores all --config scale=workstation study=crossover": ("-n",),
    "snakemake --cores all --logger allmlp": ("-n",),
    "snakemake --cores all --configfile my.yaml": ("-n",),
    "snakemake -n --quiet rules host": (),
    "snakemake -n --quiet rules host --config scale=gpu": (),
    "snakemake --cores all --configfile my.yaml --config study=language": ("-n",),
    "snakemake --cores all --configfile my.yaml --config study=triangular": ("-n",),
    "snakemake --workflow-profile workflow/profiles/slurm": ("-n",),
}
STATES = "tests/workflow/test_states.py walks states"
REMOTES = "tests/workflow/test_remotes.py does it"
PINS = "tests/workflow/test_pins.py runs it"
WORDS = "tests/workflow/test_dvc_words.py runs it"
HABITS = "tests/workflow/test_commands_of_snakemake.py runs it"
WHY_NOT = {
    "snakemake --list-rules": HABITS,
    "snakemake --rulegraph": HABITS,
    "snakemake -n --set-resources train:mem_mb=9000 --set-threads train=2": HABITS,
    "snakemake -n --until train": HABITS,
    "snakemake results/report.html": HABITS,
    "snakemake --lint": HABITS,
    "snakemake --report work/figures.html": "tests/workflow/test_snakemake_report.py runs it where results are",
    "git status --short": "prints nothing in a clean clone; tests/docs/test_tutorial.py compares the list",
    "git checkout dvc.lock": "tests/faults/pipelines.py",
    "git checkout src results dvc.lock": "tests/docs/test_tutorial.py runs it where results are",
    "git clone ADDRESS allmlp": "all of these run in a clone",
    "dvc repro": "tests/workflow/test_nothing_to_do.py runs it where there is something to make",
    "source .venv/bin/activate": "the environment of `make`, not of the tests",
    "pip install playwright axe-playwright-python": NETWORK,
    "pip install -e .[slurm]": NETWORK,
    "pip install -e .[train]": "tests/workflow/test_slim_install.py works with these packages alone",
    "git checkout STATE && dvc pull --allow-missing": STATES,
    "git checkout NAME && dvc pull --allow-missing": STATES,
    "git checkout STATE": STATES,
    "dvc pull --allow-missing": STATES,
    "dvc pull results/checkpoints/RUN": REMOTES,
    "dvc pull": WORDS,
    'allmlp generate transformer-stories-seed0-9104f234 --prompt "Once upon a time"': WORDS,
    "allmlp certify constant-attention-p59-w512-seed0-9b685b2f": WORDS,
    "allmlp keep RUN --publish": "tests/unit/test_keeping.py does it",
    "allmlp keep RUN --undo": "tests/unit/test_keeping.py does it",
    "dvc checkout": "tests/unit/test_keeping.py does it",
    "dvc add": "what `allmlp keep` calls",
    "dvc params diff STATE": WORDS,
    "dvc exp show": WORDS,
    "dvc exp run": WORDS,
    "dvc exp run -S scale=smoke": WORDS,
    "dvc metrics show": WORDS,
    "dvc metrics diff STATE": WORDS,
    "dvc plots show": WORDS,
    "dvc plots diff STATE": WORDS,
    "dvc remote modify --local local url /backup/allmlp": REMOTES,
    "dvc remote modify --local local url ssh://me@example.org/backup/allmlp": REMOTES,
    "dvc remote modify --local local keyfile ~/.ssh/id_ed25519": REMOTES,
    "dvc remote modify --local local url s3://bucket/allmlp": REMOTES,
    "dvc remote modify --local local endpointurl https://s3.example.org": REMOTES,
    "dvc remote modify --local local access_key_id ME": REMOTES,
    "dvc remote modify --local local secret_access_key SECRET": REMOTES,
    "dvc remote modify --local local url https://example.org/allmlp": REMOTES,
    "allmlp pin NAME": PINS,
    "allmlp pins": PINS,
    "allmlp verify": PINS,
    "allmlp verify --rerun --claim 002-5": "tests/workflow/test_rerunning.py runs it for a claim of each study",
    "allmlp verify --rerun --study language --scale long": PINS,
    "allmlp diff STATE_A [STATE_B]": PINS,
    "allmlp new study averages": "tests/workflow/test_new_study.py runs it",
    "allmlp new architecture running-average": "tests/workflow/test_new_architecture.py runs it",
    "MY_KEY=... allmlp tokenize tinystories-summaries": NETWORK,
    "snakemake --cores all --configfile config/recorded/english.yaml": "needs text: tests/workflow/test_recorded.py",
    "python -m tests.faults WORD": MINUTES,
    "allmlp doctor --gpu": "tests/unit/test_gpu_check.py runs it",
    "make gpu-check": "the same and benchmarks/gpu.py",
    "python -m tests.numerics.compiled_steps": "writes counts; tests/numerics/test_compiled_steps.py compares them",
    "python benchmarks/rates.py --write": "needs an idle machine",
    "python benchmarks/page.py --write": "needs an idle machine and Chromium",
    "python benchmarks/published.py --write": "needs an idle machine",
    "python benchmarks/gigabytes.py --gigabytes 0.5 5 --write": MINUTES,
    "PYTHONPATH=src python -m allmlp advance --minutes 60": ELSEWHERE,
    "PYTHONPATH=src python -m allmlp pack back.bundle": ELSEWHERE,
    "PYTHONPATH=src python -m allmlp unpack open.bundle": ELSEWHERE,
}


def commands() -> list[str]:
    """What the READMEs and docs print between backticks, or on a line of a block, that begins with a program's name."""
    pages = [PROJECT / "README.md", PROJECT / "config/README.md", *sorted((PROJECT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.split("  ")[0].strip() for language, block in blocks if not language for line in block.splitlines()]
    spans = re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    first = re.compile(rf"(?:[A-Z_]+=\S+ )?(?:{'|'.join(PROGRAMS)})(?: |$)")
    said = [" ".join(one.split()) for one in (*lines, *spans) if first.match(one)]
    return sorted(set(said) - {*PROGRAMS} | ({"snakemake"} & set(said)))


def test_every_command_of_the_pages_is_tried_or_says_why_not() -> None:
    assert set(commands()) == {*RUN, *WHY_NOT}


@pytest.mark.slow
@pytest.mark.parametrize("command", RUN)
def test_a_command_of_the_pages_works_as_it_stands(clone: Path, command: str) -> None:
    (clone / "my.yaml").write_text("studies: {quadrature: {steps: 25}}\n")
    said = call(clone, *shlex.split(command), *RUN[command])
    assert said.stdout + said.stderr
