"""Real processes under a clock: a test that hangs is a test that fails."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager


@contextmanager
def watchdog(seconds):
    """Raise in the main thread when a block takes longer, where the platform has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def bark(signum, frame):
        raise TimeoutError(f"nothing came back within {seconds} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def start(script, *arguments, **options):
    """A Python process in a group of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "default"}
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
        **options,
    )


def finish(process, seconds=120):
    """Standard output of a process that must end well."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode == 0, err
    return out


def wait_for(condition, process, seconds=60):
    """Poll until something is true of a process that runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, f"did not happen within {seconds} s"
        time.sleep(0.01)
