"""Writes data/*.json as `states.reference` reads them; must not know what the numbers mean."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reference.states import DATA


def store(name: str, head: Mapping[str, Any], signals: Mapping[str, Sequence[float]]) -> None:
    """`head` (model, origin, time, ...) line by line, then one line for each signal."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = [f"  {json.dumps(key)}: {json.dumps([float(v) for v in values])}" for key, values in signals.items()]
    lines.append(' "signals": {\n' + ",\n".join(rows) + "\n }")
    (DATA / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
