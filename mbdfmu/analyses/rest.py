"""What a rest is worth, however it was found: what is left of it, and whether a push is returned (T10.2).

Must not know how rest is sought.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mbdfmu.analyses.compiled import Vector
from mbdfmu.analyses.equilibrium import Equilibrium, named, position_names
from mbdfmu.analyses.native import translated
from mbdfmu.analyses.standing import TINY, Matrix, Place, Standing, units
from mbdfmu.errors import StepFailed
from mbdfmu.lowering import Lowered

PUSH = 0.05  # rad, or of the model's length: enough for what follows to see where it leads
LARGEST = 600  # coordinates, above which stability is not examined: the cost grows with the cube
UNSTABLE = 1e-11  # of the stiffest direction
NEUTRAL = 1e-13  # of the largest entry of the stiffness: rounding
MOVING = 1e-6  # of the largest force: what does not rest
ROUNDING = 1e-11  # rad: whose force is none
INSIDE = 1e-6  # of the model's length: an impact that would have to push
NOT_STABLE = "the equilibrium is not stable: what rests here leaves it when it is touched"


def stands_still(standing: Standing, place: Place) -> None:
    """Put the simulation where it was found to rest; StepFailed where it does not, as at a dead point."""
    native, units = standing.native, standing.units
    standing.stand(place)
    with translated():
        native.stand_still()
    mass = standing.mass(place)
    left = np.abs(mass @ native.a) * units
    alone = standing.residual(replace(place, lam=np.zeros(standing.nc)))[: standing.nv]
    stiffness = np.abs(standing.slopes(place).by_q[: standing.nv] * units * units[:, np.newaxis])
    allowed = max(MOVING * np.abs(alone * units).max(initial=0.0), ROUNDING * stiffness.max(initial=0.0))
    if left.max(initial=0.0) > allowed:
        worst = standing.lowered.model.coordinates[int(np.argmax(left))].label
        cure = "which rows hold changes there, as at a dead point; begin elsewhere, or use method='settle'"
        raise StepFailed(f"what was found is no rest: {worst} is left with a force of {left.max():.3g}; {cure}")


def at_rest(
    native: Any, lowered: Lowered, method: str, notes: Sequence[str], *, pushes: Stability | None, **facts: Any
) -> Equilibrium:
    """What is there where a simulation stands, and what is left of its accelerations."""
    model, state = lowered.model, native.save()
    values = named(lowered.signals, native.signals())
    left = np.abs(native.a) / units(native, lowered)
    unstable = (NOT_STABLE,) if pushes is not None and not pushes.holds else ()
    worst = int(np.argmax(left)) if left.size else None  # a model may have states only
    return Equilibrium(
        model=model.description.name,
        method=method,
        positions=named(position_names(model), state.q),
        states=named([s.name for s in model.states], state.x),
        turns=named([w.name for w in model.windings], state.turns),
        values=values,
        units={name: signal.unit for name, signal in model.signals.items()},
        residual=0.0 if worst is None else float(abs(native.a[worst])),
        worst="" if worst is None else model.coordinates[worst].label,
        stable=None if pushes is None else pushes.holds,
        neutral=() if pushes is None else pushes.neutral,
        notes=(*notes, *unstable, *_penetrated(values, lowered, native.length)),
        **facts,
    )


def _penetrated(values: Mapping[str, float], lowered: Lowered, length: float) -> Iterator[str]:
    """Impacts push at instants only: none of them carries what rests."""
    for name, impact in lowered.model.description.impacts.items():
        gap = values[f"{name}.gap"]
        if impact.where is None and gap < -INSIDE * length:
            cure = "impacts carry nothing that rests: use a contact force, or switch a lock on"
            yield f"impact '{name}' is {-gap:.3g} {impact.unit} inside at this equilibrium; {cure}"


# ---------------------------------------------------------------- stability


class Stability(NamedTuple):
    """What becomes of small pushes (T10.2)."""

    way: Vector  # the motion that a push makes grow fastest, of size PUSH; zero where none grows
    neutral: tuple[str, ...]  # coordinates along which a push is neither returned nor grows

    @property
    def holds(self) -> bool:
        """Whether no push grows."""
        return not self.way.any()


def stability(native: Any, lowered: Lowered) -> Stability | None:
    """At rest; None if it is not known."""
    from scipy.linalg import eig, null_space

    standing = Standing(native, lowered)
    scales = standing.units
    found = _linearised(standing)
    if found is None:
        return None
    mass, stiffness, rows = (matrix * scales for matrix in found)
    free = null_space(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY))
    project = (free * scales[:, np.newaxis]).T  # (T10.2)
    values, vectors = eig(project @ stiffness @ free, project @ mass @ free)
    massive = np.isfinite(values)  # infinite: a coordinate without mass
    values, ways = values[massive].real, free @ vectors[:, massive].real
    if not values.size:
        return Stability(np.zeros(len(scales)), ())
    largest = np.abs(values).max()
    loads = np.abs(stiffness * scales[:, np.newaxis])
    held = np.abs(np.einsum("ki,kl,li->i", ways * scales[:, np.newaxis], stiffness, ways))
    rounded = NEUTRAL * loads.max(initial=0.0) * np.linalg.norm(ways, axis=0) ** 2
    neutral = (np.abs(values) <= UNSTABLE * largest) | (held <= rounded)
    names = _along(ways[:, neutral], lowered)
    if values.min() >= -UNSTABLE * largest or neutral[np.argmin(values)]:
        return Stability(np.zeros(len(scales)), names)
    way = scales * ways[:, np.argmin(values)]
    return Stability(np.asarray(way * PUSH / np.abs(way / scales).max()), names)


def _along(ways: Matrix, lowered: Lowered) -> tuple[str, ...]:
    """As many coordinates as there are ways, by which these can be told apart."""
    from scipy.linalg import qr

    if not ways.size:
        return ()
    chosen = qr(ways.T, mode="r", pivoting=True)[1][: ways.shape[1]]
    return tuple(lowered.model.coordinates[k].label for k in sorted(chosen))


def _linearised(standing: Standing) -> tuple[Matrix, Matrix, Matrix] | None:
    """Mass, stiffness (states and variables following at once) and G at rest; None where no states would balance."""
    place, nv = standing.here, standing.nv
    slopes = standing.slopes(place)
    answer = standing.following(slopes)
    if answer is None:
        return None
    stiffness = slopes.by_q[:nv] - np.hstack([slopes.by_x, slopes.by_y])[:nv] @ answer
    return standing.mass(place), stiffness, slopes.holding[standing.rows]


def pushed(native: Any, lowered: Lowered, way: Vector) -> str:
    """Move a little along the way, and say so."""
    state = native.save()
    with translated():
        native.place(native.system.moved(state.q, way), state.x, state.turns)
    farthest = lowered.model.coordinates[int(np.argmax(np.abs(way)))].label
    return f"left an equilibrium that is not stable ({farthest})"
