"""Accuracy of the baseline estimators against what others reach on the same games.

    python benchmarks/baseline_accuracy.py --games Housing ViT9 --seeds 3
    python benchmarks/baseline_accuracy.py --estimators svarm msr --budgets 10 40 --out accuracy.csv

For every game and budget it prints the normalised error (mean over instances and seeds of the mean squared
error over the mean of the squared exact values), the same for the reference measured on these very games
(anchors/accuracy.csv in the data folder), and the quotient: below 1 is better than the reference.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import polyshap
from polyshap.errors import RankWarning
from polyshap.games.tree_models import load_forest
from polyshap.games.trees import TreeGame

ANCHORS = {
    "permutation": "shapiq.Permutation",
    "svarm": "shapiq.SVARM",
    "msr": "shapiq.UnbiasedKernelSHAP",
    "regression-msr": "shapiq.RegressionMSR",
    "oddshap": "shapiq.OddSHAP",
}
GAMES = (
    *("Housing", "ViT9", "Bike", "Forest", "Adult", "ResNet18", "DistilBERT", "Estate", "ViT16"),
    *("Cancer", "CG60", "IL60", "NHANES", "Crime"),
)
_LINE = (
    "{game:10} {budget:6} {estimator:15} {error:9.2e} +- {standard_error:8.1e}"
    "  reference {reference:9.2e}  quotient {quotient:5.2f}  {cpu_seconds:7.3f} s"
)
Game = Callable[[np.ndarray], np.ndarray]


def data_folder() -> Path:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("POLYSHAP_DATA", beside))


def instances(name: str, count: int) -> Iterator[tuple[Game, np.ndarray]]:
    """The games of one name, with their exact values."""
    data = data_folder()
    exact = np.load(data / "exact" / f"{name}.npz")["exact"]
    forest = data / "forests" / f"{name}.npz"
    if forest.exists():
        trees, rows = load_forest(forest)
        for row, values in zip(rows[:count], exact, strict=False):
            yield TreeGame(trees, row), values
        return
    for index in range(count):
        with np.load(data / "games" / name.lower() / f"{index + 1:02d}.npz") as file:
            coalitions, values = file["coalitions"], file["values"]
        powers = 1 << np.arange(coalitions.shape[1])
        table = np.empty(len(values))
        table[coalitions @ powers] = values
        yield (lambda z, table=table, powers=powers: table[z @ powers]), exact[index]


def anchors() -> dict[tuple[str, int, str], list[tuple[float, float]]]:
    """(game, budget, method) -> normalised error and seconds of each instance."""
    found = defaultdict(list)
    with (data_folder() / "anchors" / "accuracy.csv").open() as file:
        for row in csv.DictReader(file):
            key = row["game"], int(row["budget"]), row["method"]
            found[key].append((float(row["mse"]) / float(row["variance"]), float(row["seconds"])))
    return found


def measure(arguments: argparse.Namespace) -> Iterator[dict[str, str | float]]:
    reference = anchors()
    for name in arguments.games:
        games = list(instances(name, arguments.instances))
        n = len(games[0][1])
        budgets = sorted({budget for game, budget, _ in reference if game == name})
        if arguments.budgets:
            budgets = [budgets[index] for index in arguments.budgets if index < len(budgets)]
        for budget in budgets:
            for estimator in arguments.estimators:
                start, errors = time.process_time(), []
                for index, (game, exact) in enumerate(games):
                    for seed in range(arguments.seeds):
                        values = polyshap.estimate(
                            game, n, budget, estimator, random_state=1000 * seed + index
                        ).values
                        errors.append(np.mean((values - exact) ** 2) / np.mean(exact**2))
                seconds = (time.process_time() - start) / len(errors)
                known = reference.get((name, budget, ANCHORS.get(estimator, "")), [])
                theirs = float(np.mean([error for error, _ in known])) if known else float("nan")
                yield {
                    "game": name,
                    "players": n,
                    "budget": budget,
                    "estimator": estimator,
                    "error": float(np.mean(errors)),
                    "standard_error": float(np.std(errors) / np.sqrt(len(errors))),
                    "reference": theirs,
                    "quotient": float(np.mean(errors)) / theirs,
                    "cpu_seconds": seconds,
                }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", nargs="+", default=GAMES, choices=GAMES)
    parser.add_argument("--estimators", nargs="+", default=list(ANCHORS))
    parser.add_argument("--budgets", nargs="+", type=int, help="positions 0..3 among 3d, 10d, 40d, 150d")
    parser.add_argument("--instances", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="also append the rows to this csv file")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", RankWarning)
    quotients = defaultdict(list)
    for row in measure(arguments):
        quotients[row["estimator"]].append(row["quotient"])
        print(_LINE.format(**row), flush=True)
        if arguments.out:
            new = not arguments.out.exists()
            with arguments.out.open("a", newline="") as file:
                writer = csv.DictWriter(file, row)
                if new:
                    writer.writeheader()
                writer.writerow(row)
    for estimator, values in quotients.items():
        known = np.array(values)[np.isfinite(values)]
        if len(known):
            print(
                f"{estimator:15} geometric mean quotient {np.exp(np.log(known).mean()):.2f}, "
                f"within 1.25 or better in {np.count_nonzero(known <= 1.25)} of {len(known)}"
            )


if __name__ == "__main__":
    main()
