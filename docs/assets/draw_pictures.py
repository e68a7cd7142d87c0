"""Draw the pictures of the README and of the page on plots, and the error against the calls spent.

    python docs/assets/draw_pictures.py             # from the numbers in accuracy.csv
    python docs/assets/draw_pictures.py --measure   # anew, some minutes of one core

Writes accuracy.png, overview.png, a plot_*.png for each plot, report.png where Chromium is on the path, and,
measured anew, accuracy.csv (one line a game, budget and estimator) into its own folder. The games of the
measurement are the path-dependent games of forests on two data sets of scikit-learn, whose exact Shapley
values have a closed form.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import polyshap
from polyshap import plots
from polyshap.errors import RankWarning
from polyshap.games import TreeGame, grid, image_game, read_trees, text_game, tree_shapley_values

FOLDER = Path(__file__).parent
TABLE = FOLDER / "accuracy.csv"
ROWS, SEEDS = 5, 4
# estimator -> label, colour (Okabe and Ito), marker
ESTIMATORS = {
    "permutation": ("permutation sampling", "#999999", "v"),
    "kernelshap": ("KernelSHAP (paired)", "#56B4E9", "s"),
    "leverageshap": ("LeverageSHAP = 2-PolySHAP", "#0072B2", "D"),
    "polyshap-3": ("3-PolySHAP", "#009E73", "^"),
    "regression-msr": ("RegressionMSR", "#E69F00", "x"),
    "adaptive": ("adaptive", "#D55E00", "o"),
}
BUDGETS = {
    "diabetes, 10 features": (24, 48, 96, 192, 384, 768),
    "breast cancer, 30 features": (64, 128, 256, 512, 1024),
}


def games():
    """Name -> (ensemble, rows): ten trees each, as in the paper's experiments."""
    diabetes, cancer = load_diabetes(), load_breast_cancer()
    options = {"n_estimators": 10, "max_depth": 10, "random_state": 40}
    regressor = RandomForestRegressor(**options).fit(diabetes.data[ROWS:], diabetes.target[ROWS:])
    classifier = RandomForestClassifier(**options).fit(cancer.data[ROWS:], cancer.target[ROWS:])
    return {
        "diabetes, 10 features": (read_trees(regressor), diabetes.data[:ROWS]),
        "breast cancer, 30 features": (read_trees(classifier), cancer.data[:ROWS]),
    }


def measure():
    """Lines (game, budget, estimator, relative error): root of mean squared error over mean squared value."""
    for game, (trees, rows) in games().items():
        exact = tree_shapley_values(trees, rows)[..., -1]  # the last class of a classifier
        n_players = rows.shape[1]
        for budget in BUDGETS[game]:
            for name in ESTIMATORS:
                errors = [
                    error_of(name, TreeGame(trees, rows[row]), n_players, budget, exact[row], seed)
                    for row in range(ROWS)
                    for seed in range(SEEDS)
                ]
                if None not in errors:
                    yield game, budget, name, float(np.sqrt(np.mean(errors)))


def error_of(name, game, n_players, budget, exact, seed):
    """Normalised squared error of one run; None where the estimator lacks equations."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RankWarning)
        try:
            values = polyshap.estimate(game, n_players, budget, name, random_state=seed).values
        except RankWarning:
            return None
    values = values.reshape(n_players, -1)[:, -1]
    return np.mean((values - exact) ** 2) / np.mean(exact**2)


def draw_accuracy(lines):
    figure = Figure(figsize=(9.5, 3.9), layout="constrained")
    for ax, game in zip(figure.subplots(1, 2), BUDGETS, strict=True):
        for name, (label, colour, marker) in ESTIMATORS.items():
            points = [(budget, error) for what, budget, who, error in lines if (what, who) == (game, name)]
            if points:
                ax.plot(*zip(*points, strict=True), color=colour, marker=marker, label=label, ms=5)
        ax.set(title=game, xlabel="model calls (coalitions) for a row", xscale="log", yscale="log")
        ax.set_xticks(BUDGETS[game], labels=map(str, BUDGETS[game]))
        ax.minorticks_off()
        ax.grid(alpha=0.25)
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    figure.axes[0].set_ylabel("error, relative to the size of the values")
    figure.axes[0].legend(fontsize=8)
    figure.savefig(FOLDER / "accuracy.png", dpi=110)


@cache
def explained(budget=100, n_rows=60):
    """Patients of the diabetes data, against others."""
    data = load_diabetes(scaled=False)
    model = RandomForestRegressor(n_estimators=20, min_samples_leaf=3, random_state=0)
    model.fit(data.data[60:], data.target[60:])
    return polyshap.explain(
        model,
        data.data[:n_rows],
        data.data[60::15],
        budget=budget,
        feature_names=data.feature_names,
        random_state=0,
    )


def draw_overview():
    x = explained(48)
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    plots.waterfall(x, row=0, ax=left)
    plots.beeswarm(x, ax=right)
    figure.savefig(FOLDER / "overview.png", dpi=100)


def smiling():
    """A face of grey patches, and a model that looks at its mouth and at the contrast of its eyes."""
    y, x = np.mgrid[:64, :64]
    image = 0.75 * ((x - 32) ** 2 + (y - 32) ** 2 < 900)
    for centre in (22, 42):
        image[(x - centre) ** 2 + (y - 25) ** 2 < 18] = 0.1
    image[(np.abs((x - 32) ** 2 + (y - 34) ** 2 - 180) < 45) & (y > 38)] = 0.1

    def model(batch):
        mouth = 1 - batch[:, 40:56, 16:48].mean(axis=(1, 2))
        eyes = batch[:, 16:32, 8:56].std(axis=(1, 2))
        return 2 * mouth + 4 * eyes

    return image, image_game(model, image, grid(64, 64, 4, 4), absent=0.4)


def review():
    """A review, and a model that counts praise and turns it round after "not"."""
    text = "The plot is not good at all , but the music is great and the end is very moving ."

    def model(texts):
        praise = np.array([sum(t.count(word) for word in ("good", "great", "moving")) for t in texts], float)
        denied = np.array(["not good" in t for t in texts])
        return praise - 2 * denied + 0.3 * np.array(["very moving" in t for t in texts])

    return text_game(model, text, absent=None)


def draw_plots():
    """One picture for each plot, and of the report."""
    x = explained()
    image, face = smiling()
    words = review()
    seen = polyshap.estimate(face, face.n_players, 300, random_state=0)
    read = polyshap.estimate(words, words.n_players, 200, random_state=0)
    drawn = {
        "waterfall": plots.waterfall(x, row=0),
        "bar": plots.bar(explained(24, 1)),
        "beeswarm": plots.beeswarm(x),
        "global_importance": plots.global_importance(x),
        "heatmap": plots.heatmap(x),
        "scatter": plots.scatter(x, "bmi"),
        "interaction_heatmap": plots.interaction_heatmap(x, row=0, max_features=7),
        "interaction_network": plots.interaction_network(x, row=0, max_features=7),
        "convergence": plots.convergence([explained(budget, 1) for budget in (24, 48, 96, 192)]),
        "image": plots.image(seen, image, (4, 4)),
        "text": plots.text(read, [word.strip() for word in words.pieces]),
    }
    for name, ax in drawn.items():
        ax.figure.savefig(FOLDER / f"plot_{name}.png", dpi=80)
    photograph(x)


def photograph(x):
    chromium = shutil.which("chromium")
    if chromium is None:
        return
    with TemporaryDirectory() as folder:
        page = x.report(Path(folder, "report.html"))
        size = ["--window-size=1100,1500", "--hide-scrollbars", f"--screenshot={FOLDER / 'report.png'}"]
        quiet = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
        subprocess.run([chromium, *quiet, *size, page.as_uri()], check=True, capture_output=True)


def write(lines):
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("game", "budget", "estimator", "relative_error"))
        writer.writerows((game, budget, name, f"{error:.4g}") for game, budget, name, error in lines)


def read():
    with TABLE.open(encoding="utf-8") as file:
        return [
            (game, int(budget), name, float(error))
            for game, budget, name, error in list(csv.reader(file))[1:]
        ]


if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        write(measure())
    draw_accuracy(read())
    draw_overview()
    draw_plots()
