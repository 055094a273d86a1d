"""Notes on the forces with which a motion begins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from mbdfmu.analyses.compiled import Vector
from mbdfmu.description import Description, Marker
from mbdfmu.forces.contact import Contact
from mbdfmu.forces.sliding import Bristled
from mbdfmu.signals import SymbolicModel

DEEP = 0.05  # of the model's length: no stiff surface is pressed in so far
VIOLENT = 1e4  # m/s2, a thousand times the weight
STEEP = 10  # times the limit of friction: less is over before it moves much
Look = Callable[[str], float]  # at a signal


def odd_forces(model: SymbolicModel, look: Look, length: float, a: Vector) -> Iterator[str]:
    """Of contacts that begin deep inside, and of bristles that do not fit the slip; `a` are the accelerations."""
    for name, force in model.description.forces.items():
        if isinstance(force, Contact):
            yield from _deep(name, look, length, _fastest(model, force, a))
        elif isinstance(force, Bristled) and force.law == "lugre":
            yield from _unbent(name, force, look, model)


def _deep(name: str, look: Look, length: float, fastest: float) -> Iterator[str]:
    depth, force = -look(f"{name}.gap"), look(f"{name}.force")
    if depth > 0 and force > 0 and (depth > DEEP * length or fastest > VIOLENT):
        yield (
            f"contact '{name}' begins {depth:.3g} m inside with a force of {force:.3g} N, which throws bodies apart at "
            f"{fastest:.3g} m/s2: check where they begin and its stiffness, or begin from an equilibrium"
        )


def _fastest(model: SymbolicModel, force: Contact, a: Vector) -> float:
    bodies = {_body(model.description, end) for end in (force.i, force.j)}
    found = (abs(x) for x, c in zip(a, model.coordinates, strict=True) if c.unit == "m" and c.node in bodies)
    return float(max(found, default=0.0))


def _body(description: Description, end: str | Marker) -> str:
    return end.body if isinstance(end, Marker) else description.markers[end].body


def _unbent(name: str, force: Bristled, look: Look, model: SymbolicModel) -> Iterator[str]:
    given = force.coefficient if force.static_coefficient is None else force.static_coefficient
    most, viscous = (_number(value, look, model) for value in (given, force.viscous))
    if most is None or viscous is None:
        return  # a formula: its value is no signal
    slip, rubbing = look(f"{name}.slip"), abs(look(f"{name}.friction"))
    limit = most * look(f"{name}.load") + viscous * abs(slip)
    if limit > 0 and rubbing > STEEP * limit:
        one = f"{name}.bristle" in model.signals
        bent = f"{name}.bristle the start {math.copysign(most, slip):.3g}" if one else f"{name}.bristle_1, .. a start"
        yield (
            f"friction '{name}' begins at {slip:.3g} m/s with straight bristles, and a force of {rubbing:.3g} N where "
            f"sliding allows {limit:.3g} N: give {bent}"
        )


def _number(value: float | str, look: Look, model: SymbolicModel) -> float | None:
    if not isinstance(value, str):
        return value
    return look(value) if value in model.signals else None
