"""The commands of a machine that only trains, with the plan of a bundle."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from allmlp.common import cores, paths
from allmlp.common.errors import UserError, disk_error

START = Path.cwd()  # where the user typed it; commands then work in the project's folder


def _work(asked: argparse.Namespace) -> int:
    from allmlp.common import deadline
    from allmlp.pipeline import jobs, working_tree
    from allmlp.plan.portable import read_bundle_plan

    deadline.leave_if_passed(asked.runs[0])
    if asked.verb == "train":
        working_tree.caution(paths.project())
    work = jobs.train_runs if asked.verb == "train" else jobs.measure_runs
    work(list(map(read_bundle_plan().run, asked.runs)))
    return 0


def _advance(asked: argparse.Namespace) -> int:
    from allmlp.pipeline import working_tree
    from allmlp.pipeline.advancing import advance
    from allmlp.plan.portable import read_bundle_plan

    (working_tree.caution if asked.dirty else working_tree.refuse)(paths.project())
    return advance(read_bundle_plan(asked.scale), asked.minutes, asked.cores)


def _pack(asked: argparse.Namespace) -> int:
    from allmlp.pipeline.bundles.packing import pack
    from allmlp.plan.portable import read_bundle_plan

    pack(read_bundle_plan(asked.scale), START / asked.file, asked.max_mb)
    return 0


def _unpack(asked: argparse.Namespace) -> int:
    from allmlp.pipeline.bundles.unpacking import unpack

    unpack(START / asked.file)
    return 0


def _doctor(asked: argparse.Namespace) -> int:
    if asked.gpu:
        from allmlp.pipeline import gpu_check

        return gpu_check.show()
    from allmlp.pipeline import doctor

    return doctor.show()


class _Parser(argparse.ArgumentParser):
    """A command that is not here ends with what brings it."""

    def error(self, message: str) -> NoReturn:
        super().error(f"{message}. `pip install -e .[workflow]` brings the other commands.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("allmlp", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, parser_class=argparse.ArgumentParser)

    def verb(name: str, work: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        found = verbs.add_parser(name)
        found.set_defaults(work=work)
        return found

    for name in ("train", "measure"):
        verb(name, _work).add_argument("runs", nargs="+")
    advance, pack = verb("advance", _advance), verb("pack", _pack)
    advance.add_argument("--minutes", type=float, required=True)
    advance.add_argument("--cores", type=int, default=cores.count())
    advance.add_argument("--dirty", action="store_true")
    pack.add_argument("file", type=Path)
    pack.add_argument("--max-mb", type=float, default=64)
    for one in (advance, pack):
        one.add_argument("--scale", help="that of the bundle, or none")
    verb("doctor", _doctor).add_argument("--gpu", action="store_true")
    verb("unpack", _unpack).add_argument("file", type=Path)
    return parser


def main() -> None:
    """Run a command. An error that the user can correct ends with one message and status 2."""
    asked = _parser().parse_args()
    try:
        paths.enter(asked.verb)
        raise SystemExit(asked.work(asked))
    except ModuleNotFoundError as error:
        print(
            f"error: {error}. `pip install -e .[train]` in the project's folder installs all that is needed here.",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except OSError as error:
        if (said := disk_error(error)) is None:
            raise
        print(f"error: {said}", file=sys.stderr)
        raise SystemExit(2) from None
