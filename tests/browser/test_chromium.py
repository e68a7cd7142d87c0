"""How the browser of these tests is found, installed or done without; nothing is installed here."""

from __future__ import annotations

import subprocess

import pytest

from browser import chromium


@pytest.fixture
def bare(monkeypatch):
    """A machine without a browser; what is installed there can be told, and appears."""
    programs: dict[str, str] = {"apt-get": "/usr/bin/apt-get"}
    ran: list[tuple[str, ...]] = []

    def run(command, **options):
        ran.append(command)
        if "install" in command:
            programs["chromium"] = "/usr/bin/chromium"

    monkeypatch.delenv("POLYSHAP_CHROMIUM", raising=False)
    monkeypatch.setattr(chromium.shutil, "which", programs.get)
    monkeypatch.setattr(chromium.subprocess, "run", run)
    monkeypatch.setattr(chromium.os, "geteuid", lambda: 0)
    chromium.chromium.cache_clear()
    yield programs, ran
    chromium.chromium.cache_clear()


def test_what_is_there_is_used(bare, monkeypatch):
    """A browser on the path, or the one that is named, needs no installing."""
    programs, ran = bare
    programs["google-chrome"] = "/opt/chrome"
    assert chromium.chromium() == "/opt/chrome"
    chromium.chromium.cache_clear()
    monkeypatch.setenv("POLYSHAP_CHROMIUM", "/own/chromium")
    assert chromium.chromium() == "/own/chromium"
    assert ran == []


def test_a_bare_machine_gets_one(bare):
    """As root on Debian it is installed, once."""
    _, ran = bare
    assert chromium.chromium() == chromium.chromium() == "/usr/bin/chromium"
    assert ran == list(chromium.INSTALL)


@pytest.mark.parametrize("lacking", ["root", "apt-get"])
def test_without_the_right_to_install_it_is_said(lacking, bare, monkeypatch):
    """The reason holds the command."""
    programs, ran = bare
    if lacking == "root":
        monkeypatch.setattr(chromium.os, "geteuid", lambda: 1000)
    else:
        del programs["apt-get"]
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        chromium.chromium()
    assert ran == []


def test_a_failure_to_install_is_said(bare, monkeypatch):
    """With the last line of what apt-get complained about."""

    def fail(command, **options):
        raise subprocess.CalledProcessError(100, command, stderr="Err:1\nE: Unable to fetch some archives\n")

    monkeypatch.setattr(chromium.subprocess, "run", fail)
    with pytest.raises(pytest.skip.Exception, match="Unable to fetch some archives"):
        chromium.chromium()
