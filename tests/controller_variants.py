"""Controllers for tests: every shipped one, and variants that have other states."""

from __future__ import annotations

from typing import Any

import mbdfmu as mbd
from mbdfmu.controllers import Controller

load = mbd.controllers.load
# By the name of the controller, and what is special about it.
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {} for name in mbd.controllers.names()},
    "skyhook with lag and limit": {"lag": 0.02, "limit": 900.0, "replaced": 1600.0},
    "abs_slip of four wheels": {"wheels": 4, "lag": None},
    "abs_threshold of four wheels": {"wheels": 4},
    "lqr of two channels": {
        "gains": ((1.0, -2.0), (0.5, 0.0)), "measured": ("a", "b"), "channels": ("c", "d"), "limit": 1.5,
        "measured_units": (), "channel_units": (),
    },
    "state_space of two states": {
        "A": ((0.0, 1.0), (-400.0, -8.0)), "B": ((0.0,), (400.0,)),
        "C": ((1.0, 0.0), (0.0, 1.0)), "D": ((0.0,), (1.0,)),
    },
    "pid with limits": {"kp": 2.0, "ki": 3.0, "kd": 0.1, "lowest": -1.0, "highest": 1.5},
}  # fmt: skip


def variant(key: str, **more: Any) -> Controller:
    return load(key.split(" ")[0], **{**VARIANTS[key], **more})
