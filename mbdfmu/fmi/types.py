"""What kinds of values there are: quantities with the units that people read, and choices; must not know variables.

The names of quantities are those of the Modelica Standard Library, whose tools group and plot by them.
"""

from __future__ import annotations

from dataclasses import dataclass

Value = float | int | bool | str  # of enumerations the number of the item


@dataclass(frozen=True)
class Quantity:
    """What a unit measures, and the unit that people rather read."""

    name: str
    shown_in: str = ""  # nothing: the unit itself


QUANTITIES = {
    "s": Quantity("Time"),
    "m": Quantity("Length", "mm"),
    "m/s": Quantity("Velocity"),
    "m/s2": Quantity("Acceleration"),
    "rad": Quantity("Angle", "deg"),
    "rad/s": Quantity("AngularVelocity", "deg/s"),
    "rad/s2": Quantity("AngularAcceleration", "deg/s2"),
    "kg": Quantity("Mass"),
    "kg.m2": Quantity("MomentOfInertia"),
    "N": Quantity("Force"),
    "N.m": Quantity("Torque"),
    "J": Quantity("Energy"),
    "W": Quantity("Power"),
    "N/m": Quantity("TranslationalSpringConstant", "N/mm"),
    "N.s/m": Quantity("TranslationalDampingConstant"),
    "N.m/rad": Quantity("RotationalSpringConstant"),
    "N.m.s/rad": Quantity("RotationalDampingConstant"),
    "Pa": Quantity("Pressure", "bar"),
    "Hz": Quantity("Frequency"),
    "V": Quantity("Voltage"),
    "A": Quantity("Current"),
    "K": Quantity("Temperature"),
}


@dataclass(frozen=True, kw_only=True)
class Enumeration:
    """A choice; FMI counts its items from 1."""

    name: str
    items: tuple[tuple[str, str], ...]  # what may be chosen, and a line about it

    def number(self, item: str) -> int:
        """Of an item, from 1."""
        return next(k for k, (name, _) in enumerate(self.items, 1) if name == item)
