"""What a pickle would import, read from its opcodes without running one of them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickletools
import re
import zlib
from collections.abc import Callable
from pathlib import Path

__all__ = ["COMPRESSED", "pickle_globals"]

# A listing is for people: of a compressed file, which may be a bomb, only so much is unpacked for it.
_MOST_UNPACKED = 256 << 20


def _zlib(data: bytes) -> bytes:
    return zlib.decompressobj().decompress(data, _MOST_UNPACKED)


# joblib compresses whole files; the first bytes tell how
COMPRESSED: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", lambda data: gzip.GzipFile(fileobj=io.BytesIO(data)).read(_MOST_UNPACKED)),
    (b"x\x01", _zlib),
    (b"x\x5e", _zlib),
    (b"x\x9c", _zlib),
    (b"x\xda", _zlib),
    (b"BZh", lambda data: bz2.BZ2Decompressor().decompress(data, _MOST_UNPACKED)),
    (b"\xfd7zXZ", lambda data: lzma.LZMADecompressor().decompress(data, _MOST_UNPACKED)),
    (b"]\x00\x00", lambda data: lzma.LZMADecompressor().decompress(data, _MOST_UNPACKED)),
)
_STRINGS = frozenset(
    {
        *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING"),
    }
)
# two strings, each perhaps put into the memo, then STACK_GLOBAL: the form of protocol 4 and later
_STACK_GLOBAL = re.compile(rb"\x8c.([A-Za-z_][\w.]*)\x94?\x8c.([A-Za-z_][\w.]*)\x94?\x93", re.DOTALL)
_GLOBAL = re.compile(rb"c([A-Za-z_][\w.]*)\n([A-Za-z_][\w.]*)\n")


def pickle_globals(path: str | Path) -> tuple[str, ...]:
    """Names that loading the file would import, sorted; nothing in the file is run.

    joblib writes raw arrays between the opcodes, which end the exact reading; what follows is searched for
    the opcodes that import, so the list may be too long but not too short for honest files.

    Examples
    --------
    >>> import pickle, tempfile, fractions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = Path(folder, "a").write_bytes(pickle.dumps(fractions.Fraction(1, 2)))
    ...     pickle_globals(Path(folder, "a"))
    ('fractions.Fraction',)
    """
    data = _unpacked(Path(path).read_bytes())
    found, end = _exact(data)
    for pattern in (_STACK_GLOBAL, _GLOBAL):
        found |= {f"{m[1].decode()}.{m[2].decode()}" for m in pattern.finditer(data, end)}
    return tuple(sorted(found))


def _unpacked(data: bytes) -> bytes:
    for magic, unpack in COMPRESSED:
        if data.startswith(magic):
            try:
                return unpack(data)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
                return data
    return data


def _exact(data: bytes) -> tuple[set[str], int]:
    """Imports up to the first byte that is no opcode, and where that is."""
    found: set[str] = set()
    memos: list[dict[int, str | None]] = [{}]
    strings: list[str] = []
    last: str | None = None  # the value just pushed, where it is a string
    file, end = io.BytesIO(data), 0
    try:
        while file.tell() < len(data):
            for opcode, argument, position in pickletools.genops(file):
                end, name, memo = position or 0, opcode.name, memos[-1]
                if name in _STRINGS:
                    last = str(argument)
                    strings.append(last)
                elif name == "MEMOIZE":
                    memo[len(memo)] = last
                elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
                    memo[int(str(argument))] = last
                elif name in ("GET", "BINGET", "LONG_BINGET"):
                    last = memo.get(int(str(argument)))
                    if last is not None:
                        strings.append(last)
                else:
                    last = None
                if name == "PROTO":  # joblib writes an array of objects as a pickle of its own inside
                    memos.append({})
                elif name in ("GLOBAL", "INST"):
                    found.add(str(argument).replace(" ", "."))
                elif name == "STACK_GLOBAL":
                    found.add(".".join(strings[-2:]) or "?")
            if len(memos) > 1:
                memos.pop()
    except (ValueError, IndexError, UnicodeDecodeError):
        return found, end
    return found, len(data)
