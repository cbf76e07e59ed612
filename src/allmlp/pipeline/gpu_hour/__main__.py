"""python -m allmlp.pipeline.gpu_hour: all stages, or, as they call it, one of them."""

import argparse
import sys
from pathlib import Path

from allmlp.common import paths, processes
from allmlp.common.errors import UserError
from allmlp.pipeline.gpu_hour import closing, deciding, running
from allmlp.pipeline.gpu_hour.stages import CHECKED, FEW, stages


def main() -> int:
    """Do the stages that the minutes allow. Returns 1 if one failed, 2 for what a user can mend."""
    asked = _parser().parse_args()
    out = asked.out.resolve()
    bundle = asked.bundle.resolve() if asked.bundle else None
    try:
        paths.enter("gpu-hour")
        if asked.minutes <= 0:
            raise UserError(f"--minutes {asked.minutes:g}: give a number above 0.")
        if bundle and not bundle.is_file():
            raise UserError(
                f"{bundle}: no such file. `allmlp pack FILE --scale gpu --device cuda --hours 1` writes one."
            )
        out.mkdir(parents=True, exist_ok=True)
        if asked.stage == "runs":
            return deciding.decide(out, asked.device, asked.scale, asked.minutes, asked.max_mb, bundle)
        if asked.stage == "check":
            from allmlp.pipeline import gpu_check

            return gpu_check.show(out / CHECKED, asked.device, FEW if asked.tiny else None)
        return _all(asked, out, bundle)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _all(asked: argparse.Namespace, out: Path, bundle: Path | None) -> int:
    processes.end_cleanly()
    options = ["--scale", asked.scale, "--max-mb", f"{asked.max_mb:g}", *(["--bundle", str(bundle)] if bundle else [])]
    all_stages, outcomes = stages(out, asked.device, asked.tiny), []
    try:
        for one in running.run(all_stages, out, asked.minutes, options):
            outcomes.append(one)
            print(f"{one.stage}: {one.state}, {one.minutes:.1f} minutes. {one.said}", flush=True)
    finally:
        text = closing.close(outcomes, all_stages, out, asked.minutes)
    print(f"\n{text}", end="")
    return 1 if any(one.state == running.FAILED for one in outcomes) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m allmlp.pipeline.gpu_hour", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder of all files")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--bundle", type=Path, help="what `allmlp pack` wrote; else the open runs of --scale here")
    parser.add_argument("--scale", default="gpu", help="of the runs, where there is no bundle")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--max-mb", type=float, default=60, help="of the bundle that goes back")
    parser.add_argument("--tiny", action="store_true", help="a rehearsal: few checks, small steps, nothing compiled")
    parser.add_argument("--stage", choices=["check", "runs"], help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
