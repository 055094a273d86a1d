"""What happens while a model moves: events that switch rows or set states, impacts; must not know how time is found."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from mbdfmu.description.parts import Part
from mbdfmu.description.values import (
    Expression,
    Flag,
    Fraction,
    In,
    JointNames,
    Positive,
    StateName,
    SwitchNames,
    UnitText,
    Value,
)
from mbdfmu.errors import ModelError


class Event(Part):
    """Occurs when a condition becomes true, also at the start if it is true there."""

    when: Expression
    release: SwitchNames = ()  # joints, motions and constraints that hold no more
    engage: SwitchNames = ()  # the same that hold from now on, as they are then
    lock: JointNames = ()  # joints whose free coordinates are held as they are then
    unlock: JointNames = ()  # and freed again
    set: dict[StateName, Value] = Field(default_factory=dict)  # differential states, and what they become, all at once
    restart: Flag = False  # only start anew: something in the equations jumps there

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        pairs = (("release", self.release, "engage", self.engage), ("lock", self.lock, "unlock", self.unlock))
        if not self.restart and not self.set and not any(off or on for _, off, _, on in pairs):
            cure = 'give "release", "engage", "lock" or "unlock" with names, "set" with states, or "restart": true'
            raise ModelError(f"does nothing; {cure}")
        for off, these, on, those in pairs:
            for name in these:
                if name in those:
                    raise ModelError(f"{name!r} is in both {off} and {on}; leave it out of one of them")
        return self


class Impact(Part):
    """A gap that cannot become negative: what closes it is thrown back, or comes to rest on it."""

    gap: Expression
    restitution: Fraction  # speed after over speed before
    rest_speed: Annotated[Positive, In("m/s")] = 1e-3  # what would be thrown back slower stays
    where: Expression | None = None  # condition of positions: elsewhere there is nothing to hit
    unit: UnitText = "m"  # of the gap
