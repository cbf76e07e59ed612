"""The scheduler rests while jobs run: it looks at the queue when a job ends, not again and again."""

from pathlib import Path

from tests.conftest import call

JOBS = 6
TOY = f"""
from allmlp.pipeline.snakefile import lift_rate_limit
lift_rate_limit(workflow)

rule all:
    input: expand("done/{{n}}", n=range({JOBS}))
    default_target: True

rule one:
    output: "done/{{n}}"
    shell: "sleep 1; touch {{output}}"
"""


def test_the_queue_is_looked_at_once_per_job(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(TOY, encoding="utf-8")
    said = call(tmp_path, "snakemake", "--cores", "2", "--verbose")
    looks = (said.stdout + said.stderr).count("Ready jobs: ")
    assert (tmp_path / "done" / str(JOBS - 1)).is_file()
    assert 1 <= looks <= 2 * JOBS  # with the limit about four a job, and more the longer it runs
