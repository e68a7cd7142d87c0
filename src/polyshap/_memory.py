"""Memory that is free, and a refusal before it runs out: Linux hands out pages that it does not have."""

from __future__ import annotations

from pathlib import Path

from polyshap.errors import MemoryNeededError

__all__ = ["available_memory", "check_memory"]

# A container's limit, its use, and its statistics with the cache that gives way: cgroup versions 2 and 1.
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "memory.current", "inactive_file"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
# Less than this is not worth asking the system about.
_SMALL = 1 << 28
# Where the platform does not say.
_UNKNOWN = 4 << 30


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raise a `MemoryNeededError` where more bytes are needed than are free."""
    if needed < _SMALL:
        return
    available = available_memory()
    if needed > available:
        raise MemoryNeededError(
            f"{what} need about {needed / 2**30:,.1f} GiB; {available / 2**30:,.1f} GiB are free. {remedy}"
        )


def available_memory() -> int:
    """Bytes that can be used: free or in caches that give way, and inside the limit of a container."""
    return min([_of_machine(), *_of_container()])


def _of_machine() -> int:
    try:
        return 1024 * _field(Path("/proc/meminfo"), "MemAvailable:")
    except (LookupError, ValueError, OSError):  # not on this platform
        return _UNKNOWN


def _of_container() -> list[int]:
    found = []
    for limit, use, cache in _CGROUPS:
        path = Path(limit)
        try:
            used = int(path.with_name(use).read_text()) - _field(path.with_name("memory.stat"), cache)
            found.append(max(int(path.read_text()) - used, 0))
        except (LookupError, ValueError, OSError):  # no limit ("max"), or no such version
            continue
    return found


def _field(path: Path, name: str) -> int:
    """The number behind a name in a file of the kernel."""
    for line in path.read_text().splitlines():
        words = line.split()
        if words[0] == name:
            return int(words[1])
    raise LookupError(name)
