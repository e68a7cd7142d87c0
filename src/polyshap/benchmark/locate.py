"""Where public data is: `POLYSHAP_DATA`, the folder beside the checkout, or a cache filled by download."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from polyshap.errors import MissingDataError

__all__ = ["DOWNLOADS", "Download", "cache_folder", "data_folders", "find_file"]

_TIMEOUT = 30.0  # seconds without an answer


@dataclass(frozen=True)
class Download:
    """A public file: its address and the SHA-256 sums of the versions known to be right."""

    url: str
    sha256: tuple[str, ...]


_SHAPIQ = "https://raw.githubusercontent.com/mmschlk/shapiq/main/data/"
_SHAP = "https://github.com/shap/shap/raw/master/data/"
_UCI = "https://archive.ics.uci.edu/static/public/"

# file in the data folder -> where it comes from
DOWNLOADS: Mapping[str, Download] = MappingProxyType(
    {
        "tabular/california_housing.csv": Download(
            _SHAPIQ + "california_housing.csv",
            (
                "94ef369b909f5c725340b512b7c9a05c1550a554b6592d29303990e3ba521a1f",
                "6c0573ec35c926d6fab1225b6ff5d3ee1c664ebf960168f3fd13d70b6acdc485",
            ),
        ),
        "tabular/bike.csv": Download(
            _SHAPIQ + "bike.csv",
            (
                "81f59d9df606d0608da6363134fc6aa5516abfe213bbcb6f0667f5e893f09974",
                "28878d17e5eb141b6bcaad2f5f8fa5daf90a7ced8e60cabcce0d0e0ef0cf1d96",
            ),
        ),
        "tabular/adult_census.csv": Download(
            _SHAPIQ + "adult_census.csv",
            ("547551a449e2453ec1b9a3044b0b74e59cf79a4c99291cd478914aa5f9efbcd0",),
        ),
        "tabular/forest_fires.csv": Download(
            _UCI + "162/data.csv", ("0d6586a1fa52f55bef48578aef14eb97273f1e9330e1a53423df497a77065253",)
        ),
        "tabular/real_estate.csv": Download(
            _UCI + "477/data.csv", ("e0074220e235164e8fe010e055a94a4aed8bf484e0e33d7f8efc65e1b6a48b5e",)
        ),
        "tabular/nhanesi_X.csv": Download(
            _SHAP + "NHANESI_X.csv", ("0fa1e524900008da254c365b501c96768e55b94858fdc4045886d887654a1ba8",)
        ),
        "tabular/nhanesi_y.csv": Download(
            _SHAP + "NHANESI_y.csv", ("70c8d6ab022e7b080752b339ee8edc991f2fd203c294b5ca55b36bcb902aab93",)
        ),
        "tabular/CommViolPredUnnormalizedData.txt": Download(
            _SHAP + "CommViolPredUnnormalizedData.txt",
            ("b090072d0e8d140a936d2411704ed29b2681e4805b805a9c8c6bdb072c5416c3",),
        ),
    }
)

# start of a name -> how to come by such a file, which no single address gives
_ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        "games/cifar10/": "Compute it by `polyshap bench cifar10 MODEL IMAGES`, which fills the cache,",
        "games/": (
            "Take it from the pre-computed games of https://github.com/mmschlk/shapiq (01.npz to 30.npz are "
            "its first 30 instances)"
        ),
    }
)


def cache_folder() -> Path:
    """Where downloads and computed tables go: `polyshap` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "polyshap"


def data_folders() -> tuple[Path, ...]:
    """Where to look, in this order: `POLYSHAP_DATA`, or beside the checkout; then the cache."""
    given = os.environ.get("POLYSHAP_DATA")
    if given:
        return (Path(given), cache_folder())
    beside = [Path(__file__).resolve().parents[4], Path.cwd().parent]
    return (*(folder / "shared" / "data" for folder in dict.fromkeys(beside)), cache_folder())


def find_file(name: str, *, download: bool = True) -> Path:
    """The path of a file of the data folder, downloaded into the cache where it is public and not here."""
    folders = data_folders()
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    if download and name in DOWNLOADS:
        return _fetch(name, DOWNLOADS[name])
    raise MissingDataError(
        f"The data file {name} is in none of {', '.join(map(str, folders))}. {_origin(name)} and put it at "
        f"{folders[0] / name}, or set POLYSHAP_DATA to a folder that holds {name}."
    )


def _origin(name: str) -> str:
    """How to come by a file."""
    if name in DOWNLOADS:
        return f"Download it from {DOWNLOADS[name].url}"
    return next((how for start, how in _ORIGINS.items() if name.startswith(start)), "Get it")


def _fetch(name: str, source: Download) -> Path:
    """Download into the cache; the file appears only when its checksum is right."""
    target = cache_folder() / name
    by_hand = f"Download it by hand to {target}, or set POLYSHAP_DATA to a folder that holds {name}."
    try:
        with urllib.request.urlopen(source.url, timeout=_TIMEOUT) as answer:
            content: bytes = answer.read()
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        raise MissingDataError(
            f"The data file {name} is not here, and {source.url} did not answer: {error}. {by_hand}"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found not in source.sha256:
        raise MissingDataError(
            f"{source.url} has changed: its SHA-256 is {found}, expected "
            f"{' or '.join(source.sha256)}. {by_hand}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".tmp")
    try:
        part.write_bytes(content)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target
