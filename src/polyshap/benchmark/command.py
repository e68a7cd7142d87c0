"""`polyshap bench ...`: the parser and what each command does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from polyshap.benchmark.commands import check, cifar10, compare, page, paper, runtime
from polyshap.benchmark.tasks import N_INSTANCES
from polyshap.errors import PolyshapError

__all__ = ["add_parser", "main"]

_EPILOG = """\
Every command writes its records to --records and computes only what is missing there: it may be
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
    """Run the chosen command; 0, or 130 when it was interrupted."""
    function: Callable[[argparse.Namespace], int] = args.bench_function
    try:
        return function(args)
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. What was computed is kept: run the same command to go on.\n")
        return 130


def run(arguments: Sequence[str] | None = None) -> int:
    """The commands on their own, without the rest of the command line."""
    parser = argparse.ArgumentParser(prog="polyshap")
    add_parser(parser.add_subparsers(required=True))
    try:
        return main(parser.parse_args(arguments))
    except PolyshapError as error:
        sys.stderr.write(f"polyshap: {error}\n")
        return 2


def _add_common(parser: argparse.ArgumentParser, folder: str) -> None:
    parser.add_argument("--out", type=Path, default=Path(folder), help=f"folder of the results ({folder})")
    parser.add_argument("--records", type=Path, help="file of records (records.jsonl in the folder)")
    parser.add_argument(
        "--tasks", type=_names, help="games, separated by commas (all that need no live model)"
    )
    parser.add_argument("--methods", type=_names, help="estimators, separated by commas (those of the paper)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds (1)")


def _add_paper(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, "results/paper")
    parser.add_argument("--quick", action="store_true", help="two instances and four budgets: minutes")
    parser.add_argument("--instances", type=int, default=N_INSTANCES, help=f"instances ({N_INSTANCES})")
    parser.add_argument(
        "--shared-seed",
        action="store_true",
        help="the same coalitions for all instances, as the paper, instead of own ones",
    )
    parser.add_argument("--no-figures", action="store_true", help="tables only; needs no matplotlib")


def _add_check(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, "results/check")
    parser.set_defaults(seeds=10)


def _add_runtime(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, "results/runtime")
    parser.add_argument("--instances", type=int, default=3, help="instances of each game (3)")
    parser.add_argument("--no-live", action="store_true", help="leave the live vision transformer out")


def _add_compare(parser: argparse.ArgumentParser) -> None:
    _add_common(parser, "results/compare")
    parser.add_argument("--instances", type=int, default=3, help="instances of each game (3)")


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("records", type=Path, help="file of records of `polyshap bench paper`")
    parser.add_argument("--check", type=Path, help="file of records of `polyshap bench check`")
    parser.add_argument("--runtime", type=Path, help="CSV of `polyshap bench runtime`")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmark.md"), help="(docs/benchmark.md)")


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
