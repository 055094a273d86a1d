"""Gains of an optimal state feedback, from a linear model; must not know how they are fed back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mbdfmu.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from mbdfmu.analyses import LinearModel

Rows = tuple[tuple[float, ...], ...]


def lqr_gains(linear: LinearModel, inputs: Sequence[str], outputs: Sequence[str], Q: Any, R: Any) -> Rows:
    """The gains K of u = -K y that minimise the integral of y' Q y + u' R u, a row for each input.

    `linear` is what `model.linearize` gives. The outputs must determine the states that move them, y = C x with C
    invertible, and follow from these alone; states that never reach an output are left aside. Q weighs the outputs and
    R the inputs: a matrix, or the numbers on its diagonal.
    """
    import numpy as np
    from scipy.linalg import LinAlgError, solve_continuous_are

    columns, rows = _places("input", inputs, linear.inputs), _places("output", outputs, linear.outputs)
    kept = _reaching(linear.A, linear.C[rows])
    A, B, C = linear.A[np.ix_(kept, kept)], linear.B[np.ix_(kept, columns)], linear.C[np.ix_(rows, kept)]
    _check_outputs(C, linear.D[np.ix_(rows, columns)], [linear.states[k] for k in kept], outputs)
    weights, costs = _weights("Q", Q, len(rows)), _weights("R", R, len(columns))
    try:
        P = solve_continuous_are(A, B, C.T @ weights @ C, costs)
        K = np.linalg.solve(costs, B.T @ P) @ np.linalg.inv(C)
    except (LinAlgError, ValueError) as error:
        raise ModelError(
            f"model '{linear.model}': there is no optimal feedback to {', '.join(inputs)}: {error}; unstable states "
            "must answer to the inputs, and Q and R must be symmetric, R positive"
        ) from None
    return tuple(tuple(map(float, row)) for row in K)


def _places(kind: str, names: Sequence[str], known: Sequence[str]) -> list[int]:
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise ModelError(
            [f"the linear model has no {kind} {n!r}{did_you_mean(n, known)}; known: {', '.join(known)}" for n in wrong]
            or f"{kind}s: give at least one of {', '.join(known)}"
        )
    return [list(known).index(name) for name in names]


def _reaching(A: Any, C: Any) -> list[int]:
    """The states that an output shows, and those that move such a state."""
    import numpy as np

    couples = np.abs(A) > 1e-12 * np.abs(A).max(initial=0.0)
    kept = np.any(np.abs(C) > 1e-12 * np.abs(C).max(initial=0.0), axis=0)
    while np.any(more := couples[kept].any(axis=0) & ~kept):
        kept |= more
    return [int(k) for k in np.flatnonzero(kept)]


def _check_outputs(C: Any, D: Any, known: Sequence[str], outputs: Sequence[str]) -> None:
    import numpy as np

    states, found = ", ".join(known), ", ".join(outputs)
    if C.shape[0] != C.shape[1]:
        raise ModelError(f"outputs: {len(known)} of them must determine the states {states}; found {found}")
    scaled = C / np.maximum(np.abs(C).max(axis=1, keepdims=True), 1e-300)
    if np.linalg.cond(scaled) > 1e10:
        raise ModelError(f"outputs: {found} do not determine the states {states}; choose others")
    direct = [name for name, row in zip(outputs, D, strict=True) if np.any(np.abs(row) > 1e-12)]
    if direct:
        raise ModelError(f"outputs: {', '.join(direct)} answer to the inputs at once and tell no state; choose others")


def _weights(name: str, given: Any, size: int) -> Any:
    import numpy as np

    matrix = np.asarray(given, dtype=float)
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise ModelError(f"{name} must be a matrix of {size} x {size} numbers, or {size} on its diagonal")
    return matrix
