"""Accuracy, coverage and time of the adaptive estimator on the public games.

Run: python benchmarks/adaptive_accuracy.py OUT [--design chosen sequential] [--games Adult ...]
     [--budgets 3 10] [--instances 0 1 2 3 4] [--seeds 0 1 2] [--largest 2500] [--jobs 4] [--table]
     python benchmarks/adaptive_accuracy.py OUT --time

Each result is one line of OUT/accuracy.jsonl; what is there already is not measured again. The data folder is
that of the environment variable POLYSHAP_DATA (else ../shared/data). The table divides the mean of
mse / variance over instances and seeds by the smallest such mean among the methods of
anchors/accuracy.csv, game by budget.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path

# before numpy is imported: one thread a process
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

from polyshap.estimators.adaptive import Adaptive  # noqa: E402
from polyshap.execution.staged import observe_staged  # noqa: E402
from polyshap.results import Observations  # noqa: E402
from polyshap.sampling import Design, draw  # noqa: E402

DATA = Path(os.environ.get("POLYSHAP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
TABLES = {"ViT9": "vit9", "ViT16": "vit16", "ResNet18": "resnet18", "DistilBERT": "distilbert"}
HELD_OUT = {"Adult", "CG60", "ViT9", "Cancer", "ResNet18"}  # not looked at when constants were chosen
GameFunction = Callable[[np.ndarray], np.ndarray]


@lru_cache
def load(kind: str, name: str) -> dict[str, np.ndarray]:
    return dict(np.load(DATA / kind / f"{name}.npz"))


def tree_game(name: str, instance: int) -> GameFunction:
    """The path-dependent game of a forest: an unknown feature takes both branches by their cover."""
    forest = load("forests", name)
    row = forest["x"][instance]
    keys = ("feature", "threshold", "left", "right", "w_left", "value")
    feature, threshold, left, right, share, value = (forest[key].tolist() for key in keys)

    def game(coalitions: np.ndarray) -> np.ndarray:
        def walk(node: int) -> np.ndarray | float:
            split = feature[node]
            if split < 0:
                return value[node]
            low, high = walk(left[node]), walk(right[node])
            own = low if row[split] <= threshold[node] else high
            return np.where(coalitions[:, split], own, share[node] * low + (1 - share[node]) * high)

        return sum(walk(int(root)) for root in forest["roots"]) + np.zeros(len(coalitions))

    return game


def table_game(name: str, instance: int) -> GameFunction:
    content = load("games", f"{TABLES[name]}/{instance + 1:02d}")
    weights = 1 << np.arange(content["coalitions"].shape[1])
    values = np.empty(len(content["values"]))
    values[content["coalitions"] @ weights] = content["values"]
    return lambda coalitions: values[coalitions @ weights]


def anchors() -> tuple[dict[tuple[str, int], float], dict[tuple[str, int], float], dict[str, int]]:
    """Best mean error by (game, budget), variance by (game, instance), players by game."""
    errors: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    variance, players = {}, {}
    with open(DATA / "anchors" / "accuracy.csv", newline="") as file:
        for row in csv.DictReader(file):
            cell = row["game"], int(row["budget"])
            errors[cell][row["method"]].append(float(row["mse"]) / float(row["variance"]))
            variance[row["game"], int(row["instance"])] = float(row["variance"])
            players[row["game"]] = int(row["n"])
    best = {cell: min(np.mean(one) for one in methods.values()) for cell, methods in errors.items()}
    return best, variance, players


def measure(game: str, budget: int, instance: int, seed: int, design: str) -> dict[str, object]:
    """One estimate: error relative to the variance of the exact values, coverage, processor seconds."""
    exact = load("exact", game)["exact"][instance]
    function = (table_game if game in TABLES else tree_game)(game, instance)
    estimator = Adaptive(design=design)
    rng = np.random.default_rng([seed, instance])
    observations = observe_staged(estimator, function, len(exact), budget, rng)
    begin = time.process_time()
    estimate = estimator.fit(observations)
    seconds = time.process_time() - begin
    error = estimate.values - exact
    rounding = 1e-12 * np.abs(exact).max()
    return {
        "game": game,
        "budget": budget,
        "instance": instance,
        "seed": seed,
        "design": design,
        "error": float((error**2).mean() / anchors_cached()[1][game, instance]),
        "covered": float(np.mean(np.abs(error) <= 1.96 * estimate.standard_errors + rounding)),
        "seconds": seconds,
        "evaluations": estimate.n_evaluations,
    }


@lru_cache
def anchors_cached() -> tuple[dict, dict, dict]:
    return anchors()


def run(args: argparse.Namespace) -> None:
    path = Path(args.out) / "accuracy.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {key(line) for line in read(path)}
    best, _, players = anchors_cached()
    tasks = [
        (game, budget, instance, seed, design)
        for game, budget in sorted(best, key=lambda cell: -cell[1])
        if (not args.games or game in args.games) and budget <= args.largest
        if not args.budgets or round(budget / players[game]) in args.budgets
        for instance in args.instances
        for seed in args.seeds
        for design in args.design
        if (game, budget, instance, seed, design) not in done
    ]
    started = time.time()
    with path.open("a") as file, ProcessPoolExecutor(args.jobs) as pool:
        waiting = [pool.submit(measure, *task) for task in tasks]
        try:
            for future in as_completed(waiting, timeout=args.limit):
                file.write(json.dumps(future.result()) + "\n")
                file.flush()
        except TimeoutError:
            pool.shutdown(wait=False, cancel_futures=True)
    print(f"{len(tasks)} measurements asked for, {time.time() - started:.0f} s, in {path}")


def key(line: dict) -> tuple:
    return tuple(line[name] for name in ("game", "budget", "instance", "seed", "design"))


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(args: argparse.Namespace) -> None:
    """One line a cell and design, and the summary by design."""
    best, _, _ = anchors_cached()
    rival = shapleig()
    cells: dict[tuple[str, str, int], list[dict]] = defaultdict(list)
    for line in read(Path(args.out) / "accuracy.jsonl"):
        cells[line["design"], line["game"], line["budget"]].append(line)
    print(
        f"{'design':11s}{'game':11s}{'calls':>6s}{'error':>10s}{'ratio':>8s}{'covered':>8s}{'cpu s':>8s}"
        "  vs ShaplEIG"
    )
    for design in args.design:
        ratios, covered, against = {}, [], []
        for game, budget in sorted(best):
            lines = cells.get((design, game, budget))
            if not lines:
                continue
            error = float(np.mean([line["error"] for line in lines]))
            cover = float(np.mean([line["covered"] for line in lines]))
            ratios[game, budget] = error / best[game, budget]
            covered.append(cover)
            note = ""
            theirs = rival.get((game, budget), {})
            if common := [i for i in theirs if any(line["instance"] == i for line in lines)]:
                ours = [np.mean([x["error"] for x in lines if x["instance"] == i]) for i in common]
                against.append(float(np.mean(ours) / np.mean([theirs[i] for i in common])))
                note = f"{against[-1]:8.3f}"
            seconds = np.mean([line["seconds"] for line in lines])
            print(
                f"{design:11s}{game:11s}{budget:6d}{error:10.2e}{ratios[game, budget]:8.3f}{cover:8.2f}"
                f"{seconds:8.2f}{note}"
            )
        summarise(design, ratios, np.array(covered), against)


def summarise(design: str, ratios: dict, covered: np.ndarray, against: list[float]) -> None:
    if not ratios:
        return
    mean = geometric(ratios.values())
    held = geometric(value for (game, _), value in ratios.items() if game in HELD_OUT)
    above = sum(value > 1 for value in ratios.values())
    print(
        f"# {design}: {len(ratios)} cells, geometric mean {mean:.4f} (held-out games {held:.4f}), "
        f"{above} above 1, largest {max(ratios.values()):.3f}; coverage 0.90-0.99 in "
        f"{np.mean((covered >= 0.9) & (covered <= 0.99)):.2f} of the cells, at least 0.90 in "
        f"{np.mean(covered >= 0.9):.2f}, smallest {covered.min():.2f}"
    )
    if against:
        print(
            f"# {design} against ShaplEIG: geometric mean {geometric(against):.3f}, "
            f"largest {max(against):.3f}"
        )


def geometric(values: Iterable[float]) -> float:
    logs = np.log(list(values))
    return float(np.exp(logs.mean())) if len(logs) else float("nan")


def shapleig() -> dict[tuple[str, int], dict[int, float]]:
    found: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    with open(DATA / "anchors" / "shapleig.csv", newline="") as file:
        for row in csv.DictReader(file):
            found[row["game"], int(row["budget"])][int(row["instance"])] = float(row["mse"]) / float(
                row["variance"]
            )
    return found


def clock() -> None:
    """Processor seconds of choosing and fitting, on a free game; best of three."""
    for n_players, budget in ((14, 140), (101, 1000), (101, 10000)):
        rng = np.random.default_rng(0)
        weight, pairs = rng.normal(size=n_players), rng.integers(n_players, size=(2, n_players))

        def game(z: np.ndarray, weight: np.ndarray = weight, pairs: np.ndarray = pairs) -> np.ndarray:
            return z @ weight + np.tanh(z @ weight) + (z[:, pairs[0]] & z[:, pairs[1]]) @ weight

        begin = time.process_time()
        estimator = Adaptive()
        sample = estimator.draw(n_players, budget, np.random.default_rng(0))
        chosen = time.process_time() - begin
        fits = []
        for _ in range(3):
            observations = observe_staged(estimator, game, n_players, budget, np.random.default_rng(0))
            begin = time.process_time()
            estimator.fit(observations)
            fits.append(time.process_time() - begin)
        print(
            f"d={n_players} m={budget}: choosing {chosen:.3f} s, fitting {min(fits):.3f} s, "
            f"{len(sample)} calls"
        )
    many_rows()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest resident memory {peak:.0f} MiB")


def many_rows(n_rows: int = 500, n_players: int = 40, budget: int = 4000) -> None:
    rng = np.random.default_rng(0)
    weight, mixed = rng.normal(size=(n_players, n_rows)), rng.normal(size=(n_players, n_rows))
    sample = draw(Design(), n_players, budget, rng)
    values = sample.coalitions @ weight + np.tanh(sample.coalitions @ mixed)
    observations = Observations(
        sample, values, np.zeros(n_rows), weight.sum(axis=0) + np.tanh(mixed.sum(axis=0))
    )
    begin = time.process_time()
    Adaptive().fit(observations)
    print(f"{n_rows} rows of {n_players} players, {budget} calls: {time.process_time() - begin:.2f} s in all")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out")
    parser.add_argument("--design", nargs="+", default=["chosen", "sequential"])
    parser.add_argument("--games", nargs="*")
    parser.add_argument("--budgets", nargs="*", type=int, help="calls a player: 3 10 40 150")
    parser.add_argument("--instances", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--largest", type=int, default=10_000, help="leave larger budgets out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, help="seconds after which what is missing is left out")
    parser.add_argument("--table", action="store_true", help="only print what was measured")
    parser.add_argument("--time", action="store_true", help="measure seconds instead")
    args = parser.parse_args()
    if args.time:
        clock()
        return
    if not args.table:
        run(args)
    table(args)


if __name__ == "__main__":
    main()
