"""What a force element is: a law along a measure; must not know any force or index."""

from __future__ import annotations

from typing import Any, ClassVar

from mbdfmu.description import Force
from mbdfmu.expressions import Node
from mbdfmu.frames import Load, Measure, Resolve


class ForceElement(Force):
    """Base of the force elements: generalised forces, derivatives and power follow from measure and law (T4).

    The ends are frames of planar.py or spatial.py, as the model is.
    """

    modelica: ClassVar[str] = ""  # the component of the Modelica Standard Library that does the same

    def measure(self, i: Any, j: Any, resolve: Resolve) -> Measure:
        """What the force acts along."""
        raise TypeError(f"force type '{self.type_name}' defines no measure")

    def load(self, measure: Measure, i: Any, j: Any, resolve: Resolve) -> Load:
        """The law, on the measure with its turns counted."""
        raise TypeError(f"force type '{self.type_name}' defines no law")


def linear_spring(measure: Measure, stiffness: Node, damping: Node, free: Node, resolve: Resolve) -> tuple[Node, Node]:
    """Force (positive towards a larger measure) and stored energy of a linear spring with a damper beside it."""
    stretch = measure.value - free
    return -(stiffness * stretch + damping * resolve.rate(measure.value)), 0.5 * stiffness * stretch * stretch
