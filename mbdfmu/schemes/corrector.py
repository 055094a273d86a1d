"""The options that the schemes of the Newmark family share, each written once; must not know what any member adds."""

from __future__ import annotations

from typing import Any

from mbdfmu.schemes.base import option


def weights() -> Any:
    return option(
        "model",
        "floor of the error weights: the model's length scale, or 1 as in the paper",
        choices=("model", "paper"),
    )


def index(default: int = 3) -> Any:
    """2 by default where nothing damps: accelerations and reactions across joints diverge in the form of index 3."""
    text = "joints close in positions (3), or in positions and velocities (2: stabilised, smooth reactions of its own)"
    damped = (
        "" if default == 3 else "; undamped, 3 lets the scheme's own reactions diverge and fails under error control"
    )
    return option(default, text + damped, low=2, high=3)


def stop_ratio() -> Any:
    return option(1e-3, "corrector error as a fraction of the local error (c of eq. 45)", low=1e-12, high=1.0)


def max_iterations() -> Any:
    return option(10, "corrector iterations before the step is cut", low=2, high=1000)


def constraint_tolerance() -> Any:
    return option(1e-10, "largest constraint violation, fraction of the model's length", low=1e-14, high=1.0)
