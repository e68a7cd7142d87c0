"""`polyshap bench ...`: the parser and what each command does."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from polyshap.benchmark.commands import COMPARED_TASKS, check, cifar10, compare, page, paper, runtime
from polyshap.benchmark.runtime import RUNTIME_TASKS
from polyshap.benchmark.tasks import N_INSTANCES
from polyshap.errors import PolyshapError, StorageError

__all__ = ["add_parser", "main"]

_STORED = "all that need no live model"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_EPILOG = """\
`paper` and `check` write their records to --records and compute only what is missing there: they may be
interrupted and run again. Data is looked for in POLYSHAP_DATA, else in ../shared/data beside the
checkout, else downloaded into the cache folder.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Add `bench` with its commands to the parsers of a command line; `main` runs the result."""
    parser = subparsers.add_parser(
        "bench",
        help="run the experiments of the PolySHAP paper, and measure",
        description="Run the experiments of the PolySHAP paper, and measure.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="bench_command", required=True, metavar="COMMAND")
    for name, (text, add, function) in _COMMANDS.items():
        child = inner.add_parser(name, help=text, description=text)
        add(child)
        child.set_defaults(bench_function=function)
    parser.set_defaults(function=main)
    return parser


def main(args: argparse.Namespace) -> int:
    """Run the chosen command; 0, 1 for a check that fails, or 130 when it was interrupted."""
    function: Callable[[argparse.Namespace], int] = args.bench_function
    try:
        return function(args)
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. What was computed is kept: run the same command to go on.\n")
        return 130
    except OSError as error:
        if isinstance(error, PolyshapError) or error.errno not in _FULL:
            raise
        raise StorageError(
            f"{error.filename or 'A result'} could not be written: {error.strerror}. "
            "Free space and run the same command again: what was computed is kept in the records."
        ) from error


def run(arguments: Sequence[str] | None = None) -> int:
    """The commands on their own, without the rest of the command line."""
    parser = argparse.ArgumentParser(prog="polyshap")
    add_parser(parser.add_subparsers(required=True))
    try:
        return main(parser.parse_args(arguments))
    except PolyshapError as error:
        sys.stderr.write(f"polyshap: {error}\n")
        return 2


def _add_common(parser: argparse.ArgumentParser, folder: str, tasks: str) -> None:
    parser.add_argument("--out", type=Path, default=Path(folder), help=f"folder of the results ({folder})")
    parser.add_argument("--tasks", type=_names, help=f"games, separated by commas ({tasks})")
    parser.add_argument("--methods", type=_names, help="estimators, separated by commas")


def _add_records(parser: argparse.ArgumentParser, seeds: int) -> None:
    parser.add_argument("--records", type=Path, help="file of records (records.jsonl in the folder)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--seeds", type=int, default=seeds, help=f"number of seeds ({seeds})")


def _add_paper(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, "results/paper", _STORED)
    _add_records(parser, 1)
    parser.add_argument("--quick", action="store_true", help="two instances and four budgets: minutes")
    parser.add_argument("--instances", type=int, default=N_INSTANCES, help=f"instances ({N_INSTANCES})")
    parser.add_argument(
        "--budgets",
        choices=("all", "quick", "table"),
        default="all",
        help="all ten of each game, four of them, or the one of its column in the tables (all)",
    )
    parser.add_argument(
        "--shared-seed",
        action="store_true",
        help="the same coalitions for all instances, as the paper, instead of own ones",
    )
    parser.add_argument("--no-figures", action="store_true", help="tables only; needs no matplotlib")


def _add_check(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, "results/check", _STORED)
    _add_records(parser, 10)


def _add_runtime(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, "results/runtime", ", ".join(RUNTIME_TASKS))
    parser.add_argument("--instances", type=int, default=3, help="instances of each game (3)")
    parser.add_argument("--no-live", action="store_true", help="leave the live vision transformer out")


def _add_compare(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, "results/compare", ", ".join(COMPARED_TASKS))
    parser.add_argument("--instances", type=int, default=3, help="instances of each game (3)")


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("records", type=Path, help="file of records of `polyshap bench paper`")
    parser.add_argument("--check", type=Path, help="file of records of `polyshap bench check`")
    parser.add_argument("--runtime", type=Path, help="CSV of `polyshap bench runtime`")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmark.md"), help="(docs/benchmark.md)")
    parser.add_argument("--figures", type=Path, help="folder of the figures (assets beside the page)")
    parser.add_argument("--no-figures", action="store_true", help="text only; needs no matplotlib")


def _add_images(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="folder of a Hugging Face image classifier")
    parser.add_argument("data", type=Path, help="folder with the CIFAR-10 batches (cifar-10-batches-py)")
    parser.add_argument("--instances", type=int, default=N_INSTANCES, help=f"images ({N_INSTANCES})")
    parser.add_argument("--device", help="torch device (a GPU if there is one)")
    parser.add_argument("--batch-size", type=int, default=256, help="images a model call (256)")
    parser.add_argument("--out", type=Path, help="folder of the tables (games/cifar10 in the cache folder)")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_Command = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]

_COMMANDS: Mapping[str, _Command] = {
    "paper": ("the paper's two tables and its figures", _add_paper, paper),
    "check": ("cells of the paper over several seeds, against their spread", _add_check, check),
    "runtime": ("time of each stage against budget, with a linear fit", _add_runtime, runtime),
    "compare": ("against installed shapiq, shap and LightSHAP", _add_compare, compare),
    "page": ("write the benchmark page of the documentation from records", _add_page, page),
    "cifar10": ("compute the CIFAR-10 game from a model and the images", _add_images, cifar10),
}


if __name__ == "__main__":
    sys.exit(run())
