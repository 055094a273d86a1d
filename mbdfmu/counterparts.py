"""What stands for an element in Modelica: classes of its standard library, or equations; must not know any element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

MULTIBODY = "Modelica.Mechanics.MultiBody"
# How an orientation starts, and what describes it: a quaternion or three angles.
TURNING = (
    "enforceStates", "angles_fixed", "angles_start", "sequence_start", "w_rel_a_fixed", "w_rel_a_start",
    "useQuaternions", "sequence_angleStates",
)  # fmt: skip


class Moving(NamedTuple):
    """The variables of a class that are a free coordinate with its derivatives."""

    value: str
    rate: str
    acceleration: str


@dataclass(frozen=True, kw_only=True)
class Library:
    """A class of the Modelica Standard Library 4 that does the same: all of it that exported models use."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)  # of the class: the field that gives it
    settings: tuple[str, ...] = ()  # parameters that are no fields: how it starts, in whose axes
    connectors: tuple[str, str] = ("frame_a", "frame_b")  # of the ends i and j
    coordinates: Mapping[str, Moving] = field(default_factory=dict)  # by free coordinate
    turns: bool = False  # the orientation is free too
    inputs: Mapping[str, str] = field(default_factory=dict)  # that are vectors: their signals without .x, .y, .z

    @property
    def shown(self) -> str:
        """In tables: the class, its parameters with the fields that give them, its variables and inputs."""
        variables = [f"{moving.value}: {key}" for key, moving in self.coordinates.items()]
        given = [f"{name}: {key}" for name, key in self.parameters.items()]
        words = ", ".join([*given, *variables, *(f"{name}: {key}" for name, key in self.inputs.items())])
        return self.name.removeprefix("Modelica.Mechanics.") + (f" ({words})" if words else "")

    @property
    def modified(self) -> frozenset[str]:
        """All names that modifiers of the class may have."""
        moving = [name for one in self.coordinates.values() for name in one]
        return frozenset((*self.parameters, *self.settings, *moving))


@dataclass(frozen=True, kw_only=True)
class Equations:
    """The library has no such class: the element's own equations, and a local model that acts on its bodies."""

    like: str = ""  # what the library builds something similar from

    @property
    def shown(self) -> str:
        """In tables."""
        return f"own equations (like {self.like})" if self.like else "own equations"


Counterpart = Library | Equations


def joint(name: str) -> str:
    """The full name of one of the library's joints."""
    return f"{MULTIBODY}.Joints.{name}"


def force(name: str) -> str:
    """The full name of one of the library's forces."""
    return f"{MULTIBODY}.Forces.{name}"
