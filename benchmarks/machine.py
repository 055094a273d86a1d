"""What measured figures belong to: versions and the kind of machine; must not know what is measured."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np
from timing import Record

import mbdfmu


def machine() -> Record:
    """What the figures belong to."""
    return {
        "mbdfmu": mbdfmu.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.platform(),
        "processor": processor(),
        "processors": os.cpu_count(),
    }


def processor() -> str:
    """The processor's name, as Linux tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
