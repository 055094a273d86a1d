"""States of the shipped models computed elsewhere (data/*.json, each with its origin); must not simulate anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def reference(name: str) -> dict[str, Any]:
    """model, origin, time and signals (name -> one value for each time), perhaps parameters."""
    return dict(json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")))


def kind(signal: str) -> str:
    """What a signal is, told by its name."""
    rate = signal.startswith("der(") or signal.endswith((".vx", ".vy", ".omega", "_rate"))
    return "reactions" if ".reaction." in signal else "velocities" if rate else "positions"
