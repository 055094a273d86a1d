"""Types of the Modelica Standard Library by unit; must not know models."""

from __future__ import annotations

SI = "Modelica.Units.SI"
_TYPES = {
    "m": "Length", "m/s": "Velocity", "m/s2": "Acceleration", "m2": "Area", "m3": "Volume",
    "rad": "Angle", "rad/s": "AngularVelocity", "rad/s2": "AngularAcceleration", "s": "Time", "Hz": "Frequency",
    "kg": "Mass", "kg.m2": "MomentOfInertia", "kg/m3": "Density", "N": "Force", "N.m": "Torque", "J": "Energy",
    "W": "Power", "Pa": "Pressure",
    "N/m": "TranslationalSpringConstant", "N.s/m": "TranslationalDampingConstant",
    "N.m/rad": "RotationalSpringConstant", "N.m.s/rad": "RotationalDampingConstant",
}  # fmt: skip


def type_of(unit: str) -> tuple[str, str]:
    """The type of a variable, and the unit that it still has to be given."""
    return (f"SI.{_TYPES[unit]}", "") if unit in _TYPES else ("Real", unit)
