"""Types of the Modelica Standard Library by unit; must not know models."""

from __future__ import annotations

from mbdfmu.modelica.sheet import Kind, plain

SI = "Modelica.Units.SI"
_TYPES = {
    "m": "Length", "m/s": "Velocity", "m/s2": "Acceleration", "m2": "Area", "m3": "Volume",
    "rad": "Angle", "rad/s": "AngularVelocity", "rad/s2": "AngularAcceleration", "s": "Time", "Hz": "Frequency",
    "kg": "Mass", "kg.m2": "MomentOfInertia", "kg/m3": "Density", "N": "Force", "N.m": "Torque", "J": "Energy",
    "W": "Power", "Pa": "Pressure",
    "N/m": "TranslationalSpringConstant", "N.s/m": "TranslationalDampingConstant",
    "N.m/rad": "RotationalSpringConstant", "N.m.s/rad": "RotationalDampingConstant",
}  # fmt: skip


def typed(unit: str) -> Kind:
    """The type of a variable: the library's, or a number with its unit."""
    if unit not in _TYPES:
        return plain(unit)
    return Kind(f"SI.{_TYPES[unit]}", "", "" if unit == "rad" else plain(unit).shown)  # the library shows angles so
