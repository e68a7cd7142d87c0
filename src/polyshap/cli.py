"""The command line: `polyshap demo`, `polyshap explain MODEL DATA`, `polyshap bench`.

Exit codes: 0 done, 1 an error, 2 wrong usage, 3 the tolerance was not met. Results go to standard output,
everything else to standard error; an error is one line unless --debug asks for the traceback.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TextIO

from polyshap.command.explain import run_explain
from polyshap.command.output import as_json, as_text
from polyshap.errors import PolyshapError
from polyshap.models.functions import METHODS
from polyshap.text_tables import printable

__all__ = ["CONVERGED_NOT", "ERROR", "OK", "USAGE", "main"]

OK, ERROR, USAGE, CONVERGED_NOT = 0, 1, 2, 3
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it

_EXAMPLES = """examples:
  polyshap explain model.json rows.csv --target-drop y --rows 0:10
      an XGBoost file, the first ten rows; 100 rows of the data are the background
  polyshap explain model.joblib rows.parquet --allow-pickle --report report.html
      a scikit-learn pipeline that you trust, and a page to open in a browser
  polyshap explain model.skops rows.csv --trust numpy.dtype --out values.parquet --out values.npz
  polyshap explain scoring:predict rows.csv --background train.csv --budget 500 --json
      the function `predict` of scoring.py, which takes a DataFrame
  polyshap explain model.onnx rows.csv --class 1 --tolerance 0.01 --dry-run
      what it would cost
  polyshap explain model.json rows.parquet --n-jobs 8 --resume kept -o values.parquet
      on eight processes; stopped and given again, it goes on where it was

exit codes: 0 done, 1 error, 2 usage, 3 tolerance not met"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options = _parser("bench" in arguments[:1]).parse_args(_joined(arguments))
    except SystemExit as ending:  # --help, --version and wrong usage
        return ending.code if isinstance(ending.code, int) else USAGE
    options.call = "polyshap " + shlex.join(arguments)
    debug = getattr(options, "debug", False)
    with warnings.catch_warnings():
        if not debug:
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
        try:
            return int(options.function(options))
        except KeyboardInterrupt:
            _say("interrupted")
            return _INTERRUPTED
        except BrokenPipeError:  # the reader, such as `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK
        except Exception as error:
            if debug:
                raise
            _say(f"error: {_one_line(error)}")
            return ERROR


def _joined(arguments: Sequence[str]) -> list[str]:
    """`--rows -5:` as `--rows=-5:`, which argparse does not take for a flag."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--rows" and re.match(r"-\d", argument):
            joined[-1] = f"--rows={argument}"
        else:
            joined.append(argument)
    return joined


def _parser(with_bench: bool) -> argparse.ArgumentParser:
    """The whole parser; the benchmark's own part is imported when it is asked for."""
    from polyshap import __version__

    parser = argparse.ArgumentParser(
        prog="polyshap", description="Shapley values of any model from few calls, with error bars."
    )
    parser.add_argument("--version", action="version", version=f"polyshap {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_explain(commands)
    if with_bench:
        import_module("polyshap.benchmark.command").add_parser(commands)
    else:
        commands.add_parser("bench", help="run the experiments of the PolySHAP paper, and measure")
    return parser


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser("demo", help="explain a model of a bundled data set, against exact values")
    demo.add_argument("--report", metavar="HTML", help="write the report there as well")
    demo.add_argument("--seed", type=_natural, default=0, metavar="N", help="default: 0")
    demo.add_argument("--debug", action="store_true", help="show tracebacks")
    demo.set_defaults(function=_demo)


def _add_explain(commands: Any) -> None:
    explain = commands.add_parser(
        "explain",
        help="explain rows of a table",
        description="Shapley values of the predictions for rows of a table.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files = "XGBoost, LightGBM, CatBoost, ONNX, skops or joblib file, or module:function"
    explain.add_argument("model", metavar="MODEL", help=files)
    explain.add_argument("data", metavar="DATA", help="csv or parquet file")
    _add_what(explain.add_argument_group("what is explained").add_argument)
    _add_how(explain.add_argument_group("how").add_argument)
    _add_where(explain.add_argument_group("where to").add_argument)
    _add_trust(explain.add_argument_group("trust").add_argument)
    explain.set_defaults(function=_explain)


_REPEATED: dict[str, Any] = {"action": "append", "default": []}


def _add_what(flag: Callable[..., object]) -> None:
    flag(
        "--target-drop",
        metavar="COLUMN",
        **_REPEATED,
        help="leave a column of DATA out, such as the target; may be repeated",
    )
    flag("--rows", metavar="0:10", help="rows of DATA: 0:10, 3, 1,4,7 or -5: (default: all)")
    flag(
        "--background",
        metavar="FILE|N",
        help="what absent features are filled from: a file, or so many rows of DATA (default: 100)",
    )
    flag(
        "--class",
        metavar="NAME|N",
        dest="output",
        **_REPEATED,
        help="one output of the model; may be repeated (default: all)",
    )
    flag("--method", choices=METHODS, default="auto", help="what to ask the model for")
    flag("--groups", metavar="FILE", help="JSON {name: [columns]}, or the word one-hot")
    flag("--arrays", action="store_true", help="hand the model numpy arrays, not DataFrames")


def _add_how(flag: Callable[..., object]) -> None:
    flag("--budget", metavar="N", type=_budget, default="auto", help="coalitions a row (default: auto)")
    flag("--estimator", metavar="NAME", default="auto", help="adaptive, polyshap-3, kernelshap, ...")
    flag(
        "--imputer",
        metavar="NAME",
        default="marginal",
        help="marginal, baseline, kmeans-50, gaussian, copula, path-dependent",
    )
    flag(
        "--tolerance",
        "--tol",
        metavar="SHARE",
        type=_share,
        help="stop at errors below this share of the range",
    )
    flag("--seed", metavar="N", type=_natural, default=0, help="equal seeds, equal values (default: 0)")
    flag("--batch-size", metavar="N", type=_positive, help="synthetic rows for the model at a time")
    flag("--n-jobs", metavar="N", type=_whole, help="processes; -1 takes one a core")
    flag("--scheduler", metavar="ADDRESS", help="of a Dask cluster, such as tcp://host:8786")
    flag("--resume", metavar="FOLDER", help="keep what was asked there; the same command goes on from it")


def _add_where(flag: Callable[..., object]) -> None:
    flag("--report", metavar="HTML", help="one page, to open in a browser")
    flag(
        "--out",
        "--output",
        "-o",
        metavar="FILE",
        **_REPEATED,
        help="values as .parquet, .csv or .npz, or the page as .html; may be repeated",
    )
    flag("--json", action="store_true", help="everything as JSON on standard output")
    flag("--top", metavar="N", type=_positive, default=12, help="features in printed tables (default: 12)")
    flag("--dry-run", action="store_true", help="only say what it would cost")
    flag("--quiet", "-q", action="store_true", help="no progress and no notes")


def _add_trust(flag: Callable[..., object]) -> None:
    flag(
        "--allow-pickle",
        action="store_true",
        help="read a joblib, pickle or cloudpickle file, which can run any program",
    )
    flag("--trust", metavar="TYPE", **_REPEATED, help="a type that a skops file may hold; may be repeated")
    flag("--debug", action="store_true", help="show tracebacks")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number. Got {text}") from None


def _natural(text: str) -> int:
    value = _whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be 0 or more. Got {text}")
    return value


def _positive(text: str) -> int:
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more. Got {text}")
    return value


def _budget(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return _positive(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"must be a whole number of 1 or more, or auto. Got {text}"
        ) from None


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, such as 0.01. Got {text}") from None
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 1. Got {text}")
    return value


def _demo(options: argparse.Namespace) -> int:
    from polyshap.command.demo import run_demo

    for line in run_demo(options.report, options.seed):
        print(line, flush=True)
    return OK


def _explain(options: argparse.Namespace) -> int:
    run = run_explain(options, options.call, (lambda line: None) if options.quiet else _say)
    if run is None:
        return OK
    print(as_json(run) if options.json else as_text(run, options.top))
    # what budget "auto" aims at by itself is not what the user asked for
    if options.tolerance is None or run.explanation.diagnostics.converged is not False:
        return OK
    _say(f"the tolerance {options.tolerance:g} was not met. Raise --budget or --tolerance.")
    return CONVERGED_NOT


def _say(line: str) -> None:
    print(f"polyshap: {printable(line)}", file=sys.stderr)


def _one_line(error: BaseException) -> str:
    """An error of polyshap speaks for itself; of any other the kind is named, and how to see more."""
    text = " ".join(str(error).split())
    if isinstance(error, PolyshapError):
        return text
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.strerror}: {error.filename!r}"
    return f"{type(error).__name__}: {text or 'no message'} (--debug shows where)"


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """In place of `warnings.showwarning`: one line, without where in the code it arose."""
    _say(f"warning: {' '.join(str(message).split())}")
