"""What a force element is: a law along a measure; must not know any force or index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mbdfmu.description import Force
from mbdfmu.expressions import Node
from mbdfmu.frames import Frame, Load, Measure

Resolve = Callable[[Any], Any]  # a value of the description -> its node
Rate = Callable[[Node], Node]  # a position-level node -> its time derivative


class ForceElement(Force):
    """Base of the force elements: generalised forces, derivatives and power follow from measure and law (T4)."""

    modelica: ClassVar[str] = ""  # the component of the Modelica Standard Library that does the same

    def measure(self, i: Frame, j: Frame) -> Measure:
        """What the force acts along."""
        raise TypeError(f"force type '{self.type_name}' defines no measure")

    def load(self, i: Frame, j: Frame, resolve: Resolve, rate: Rate) -> Load:
        """The law."""
        raise TypeError(f"force type '{self.type_name}' defines no law")


def linear_spring(measure: Measure, stiffness: Node, damping: Node, free: Node, rate: Rate) -> tuple[Node, Node]:
    """Force (positive towards a larger measure) and stored energy of a linear spring with a damper beside it."""
    stretch = measure.value - free
    return -(stiffness * stretch + damping * rate(measure.value)), 0.5 * stiffness * stretch * stretch
