"""Where Chromium is; on a machine of Debian's kind whose owner we are, it is installed when it is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Chromium takes some 15 s on a quick line, and draws no letters without a font.
# Without a network it gives up soon.
_APT = (
    "apt-get",
    "-qq",
    "-o",
    "Acquire::Retries=0",
    "-o",
    "Acquire::http::Timeout=20",
    "-o",
    "DPkg::Lock::Timeout=60",
)
INSTALL = (
    (*_APT, "update"),
    (*_APT, "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"),
)
_SECONDS = 300


def find() -> str | None:
    return os.environ.get("POLYSHAP_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@cache
def chromium() -> str:
    """The path of the browser; without one, and without the means to install it, the test is skipped."""
    found = find()
    if found is not None:
        return found
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        pytest.skip("no Chromium, and no right to install it: apt-get install chromium")
    try:
        for command in INSTALL:
            subprocess.run(
                command,
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
                check=True,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
    except subprocess.SubprocessError as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        pytest.skip(f"no Chromium, and it could not be installed: {said[-1] if said else error}")
    found = find()
    assert found is not None, "apt-get installed chromium, which is not on the path"
    return found
