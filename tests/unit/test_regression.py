"""Constrained weighted least squares: both routes, rank, memory."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from polyshap import regression
from polyshap.bases import even_basis, monomial_basis, odd_basis, parity_terms
from polyshap.frontiers import KAdditive
from polyshap.regression import least_squares
from polyshap.sampling import Design, draw


def problem(n_players=8, budget=200, order=2, n_outputs=3, seed=0):
    rng = np.random.default_rng(seed)
    sample = draw(Design(paired=False), n_players, budget, rng)
    basis = monomial_basis(KAdditive(order).build(n_players))
    targets = rng.normal(size=(len(sample), n_outputs))
    return basis, sample, targets, rng.normal(size=n_outputs)


def columns(basis, coalitions):
    out = np.empty((basis.n_columns, len(coalitions)))
    basis.write(coalitions, out)
    return out.T


def test_bases_are_products():
    """Monomials, odd and even Fourier columns against products written out."""
    frontier = KAdditive(4).build(6)
    coalitions = draw(Design(), 6, 40, np.random.default_rng(0)).coalitions
    monomials = [[z[list(term)].all() for term in frontier.terms] for z in coalitions]
    assert np.array_equal(columns(monomial_basis(frontier), coalitions), monomials)
    for parity, basis, shift in ((1, odd_basis(frontier), 0.0), (0, even_basis(frontier), 1.0)):
        terms = parity_terms(frontier, parity)
        products = [[np.prod(np.where(z, 1, -1)[list(term)]) - shift for term in terms] for z in coalitions]
        assert np.array_equal(columns(basis, coalitions), products)


@pytest.mark.parametrize("constrained", [True, False])
def test_the_orthogonal_route_agrees_with_the_normal_equations(monkeypatch, constrained):
    """Two factorisations, one answer; the constraint holds to the last bits."""
    basis, sample, targets, totals = problem()
    constraint = np.random.default_rng(1).normal(size=basis.n_columns) if constrained else None
    arguments = (basis, sample.coalitions, sample.log_weights, targets)
    options = {"constraint": constraint, "totals": totals if constrained else None}
    fast = least_squares(*arguments, **options)
    monkeypatch.setattr(regression, "_NORMAL_RCOND", 2.0)
    safe = least_squares(*arguments, **options)
    np.testing.assert_allclose(fast.coefficients, safe.coefficients, atol=1e-11)
    assert fast.rank == safe.rank == basis.n_columns
    assert fast.residual == pytest.approx(safe.residual, rel=1e-10)
    if constrained:
        np.testing.assert_allclose(constraint @ fast.coefficients, totals, atol=1e-12)
        np.testing.assert_allclose(constraint @ safe.coefficients, totals, atol=1e-12)


def test_minimum_norm_where_columns_repeat():
    """A rank-deficient system: the rank is found and the solution is the pseudo-inverse's."""
    basis, sample, targets, totals = problem(n_players=8, budget=30, order=2)
    fit = least_squares(
        basis,
        sample.coalitions,
        sample.log_weights,
        targets,
        constraint=np.ones(basis.n_columns),
        totals=totals,
    )
    design = columns(basis, sample.coalitions) * np.exp(sample.log_weights / 2)[:, None]
    p = basis.n_columns
    projector = np.eye(p) - 1.0 / p
    offset = np.tile(totals / p, (p, 1))
    right = targets * np.exp(sample.log_weights / 2)[:, None] - design @ offset
    expected = np.linalg.pinv(design @ projector, rcond=1e-10) @ right + offset
    np.testing.assert_allclose(fit.coefficients, expected, atol=1e-9)
    assert fit.rank == np.linalg.matrix_rank(design @ projector, tol=1e-10) + 1 < p


def test_many_outputs_are_solved_as_one_by_one():
    """One factorisation for all right-hand sides."""
    basis, sample, targets, totals = problem()
    ones = np.ones(basis.n_columns)
    together = least_squares(
        basis, sample.coalitions, sample.log_weights, targets, constraint=ones, totals=totals
    )
    for k in range(3):
        alone = least_squares(
            basis,
            sample.coalitions,
            sample.log_weights,
            targets[:, [k]],
            constraint=ones,
            totals=totals[[k]],
        )
        np.testing.assert_allclose(together.coefficients[:, k], alone.coefficients[:, 0], atol=1e-12)


def test_no_rows_at_all():
    """One player: the constraint alone decides."""
    basis = monomial_basis(KAdditive(1).build(1))
    fit = least_squares(
        basis,
        np.empty((0, 1), dtype=bool),
        np.empty(0),
        np.empty((0, 1)),
        constraint=np.ones(1),
        totals=np.array([3.0]),
    )
    assert fit.coefficients.tolist() == [[3.0]]
    assert fit.rank == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
@pytest.mark.parametrize("route", ["normal", "orthogonal"])
def test_peak_memory_is_below_one_and_a_half_designs(route):
    """The design is built in blocks: 3,000 rows of 1,830 terms in a process of its own."""
    script = f"""
        import resource
        import numpy as np
        from polyshap import regression
        from polyshap.bases import monomial_basis
        from polyshap.frontiers import KAdditive
        from polyshap.sampling import Design, draw

        if {route == "orthogonal"}:
            regression._NORMAL_RCOND = 2.0
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        def solve(n_players, budget):
            sample = draw(Design(paired=False), n_players, budget, np.random.default_rng(0))
            basis = monomial_basis(KAdditive(2).build(n_players))
            targets = sample.coalitions[:, :1].astype(float)
            ones = np.ones(basis.n_columns)
            regression.least_squares(basis, sample.coalitions, sample.log_weights, targets,
                                     constraint=ones, totals=np.ones(1))
            return 8 * len(sample) * basis.n_columns
        solve(10, 100)  # libraries and their buffers
        before = peak()
        design = solve(60, 3000)
        print((peak() - before) / design)
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # with the path to the code under test
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert float(done.stdout) <= 1.5
