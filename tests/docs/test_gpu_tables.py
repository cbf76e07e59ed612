"""What docs/cluster.md says of GPUs is what they measured. To renew it, copy what a failure prints."""

import json
import re
from typing import Any

from allmlp import models
from allmlp.pipeline.gpu_check import exact, training
from tests.conftest import PROJECT
from tests.docs.quoted import assert_quoted

PAGE = "docs/cluster.md"
HEADS = ("model", "parameters", "ms a step", "tokens/s", "share of a matrix product's rate", "memory")
WORST = re.compile(r"forward (\S+) backward (\S+)")
APART = re.compile(r"at most (\S+) nats")


def read(name: str) -> Any:
    return json.loads((PROJECT / "benchmarks" / name).read_text(encoding="utf-8"))


def speeds() -> str:
    """The benchmark's row per model, fastest first."""
    found = read("gpu.json")["cuda"]
    size = found["size"]
    lines = [
        f"On one {found['hardware']}: width {size['d_model']}, {size['n_blocks']} blocks, context {size['context']}, "
        f"batch {size['batch']}, bfloat16,",
        f"not compiled; a large matrix product runs at {found['product_flops'] / 1e12:.0f} TFLOP/s.",
        "",
        f"| {' | '.join(HEADS)} |",
        f"| --- |{' ---: |' * (len(HEADS) - 1)}",
    ]
    for name, one in sorted(found["models"].items(), key=lambda pair: pair[1]["step_s"]):
        cells = (
            name,
            f"{one['parameters'] / 1e6:.1f} million",
            f"{1e3 * one['step_s']:.1f}",
            f"{one['tokens_per_s']:,.0f}",
            f"{one['share_of_product']:.0%}",
            f"{one['peak_bytes'] / 1e9:.1f} GB",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def checks() -> str:
    """How many checks the GPU has passed, and the largest errors."""
    found = read("gpu-check.json")
    outcomes = found["checks"]
    exact = [float(number) for one in outcomes if (seen := WORST.match(one["said"])) for number in seen.groups()]
    apart = {
        kind: max(float(seen[1]) for one in outcomes if kind in one["check"] and (seen := APART.match(one["said"])))
        for kind in ("float32", "bfloat16")
    }
    return "\n".join(
        [
            f"{found['hardware']} ({found['versions'].rpartition(',')[0]}): {len(outcomes)} checks, "
            f"{sum(not one['passed'] for one in outcomes)} failed.",
            f"Largest relative error against float64 {max(exact):.1e}; largest distance of a loss within 50 steps "
            f"{apart['float32']:.1e} nats in",
            f"single precision, {apart['bfloat16']:.1e} in bfloat16.",
        ]
    )


def stacks() -> str:
    """Runs an hour of five seeds one after the other and as one stack, per device that was measured."""
    lines = []
    for device, found in read("stacked.json").items():
        lines += [f"On {found['hardware']} ({device}), runs of {found['steps_of_a_run']:,} updates an hour:", ""]
        lines += ["| setting | seeds | one after the other | stacked | times as many |", "| --- |" + " ---: |" * 4]
        for one in found["settings"]:
            speeds = f"{one['alone_runs_per_hour']:,} | {one['stacked_runs_per_hour']:,} | {one['ratio']:.2f}"
            lines.append(f"| {one['setting']} | {one['seeds']} | {speeds} |")
    return "\n".join(lines)


def test_the_page_quotes_the_benchmark() -> None:
    assert_quoted(PAGE, "gpu speeds", speeds())


def test_the_page_quotes_the_stacks() -> None:
    assert_quoted(PAGE, "stacks", stacks())


def test_the_page_quotes_the_checks() -> None:
    assert_quoted(PAGE, "gpu checks", checks())


def test_the_record_keeps_to_the_limits_of_today() -> None:
    outcomes = read("gpu-check.json")["checks"]
    for one in outcomes:
        if seen := WORST.match(one["said"]):
            assert max(map(float, seen.groups())) <= exact.MOST, one
        elif seen := APART.match(one["said"]):
            assert float(seen[1]) <= training.MOST["bfloat16" if "bfloat16" in one["check"] else "float32"], one
    names = {
        name
        for group in (exact.check_architectures, exact.check_relations, exact.check_loss)
        for name, _ in group("cpu")
    }
    names |= {name for name, _ in training.check_modes("cpu")} | {name for name, _ in training.check_stacks("cpu")}
    recorded = {one["check"] for one in outcomes}
    own = [name for name in models.REGISTRY if not any(name in check for check in recorded)]
    lacking = {check for check in names - recorded if not any(name in check for name in own)}
    assert not lacking, "renew benchmarks/gpu-check.json"
