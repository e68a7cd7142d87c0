"""Axes for the tests of plots."""

import pytest


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().add_subplot()
