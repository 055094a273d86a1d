"""The attraction of two point masses; gravity that is the same everywhere is an entry of the model."""

from typing import Annotated, Any, ClassVar

from mbdfmu.counterparts import line_force
from mbdfmu.description import In, NonNegative
from mbdfmu.forces.base import ScalarForce
from mbdfmu.frames import Law, Measure, Resolve, distance


class Gravitation(ScalarForce, name="gravitation"):
    """Attraction of two point masses, G m_i m_j/r^2 (T4.8)."""

    modelica = line_force(like="MultiBody.World with gravityType PointGravity")
    parity: ClassVar = {d: {"length": "even", "force": "even"} for d in (2, 3)}

    mass_i: Annotated[NonNegative, In("kg")]
    mass_j: Annotated[NonNegative, In("kg")]
    constant: Annotated[NonNegative, In("m3/(kg.s2)")] = 6.6743e-11

    def measure(self, i: Any, j: Any, resolve: Resolve) -> Measure:
        return distance(i, j)

    def law(self, measure: Measure, i: Any, j: Any, resolve: Resolve) -> Law:
        energy = -resolve(self.constant) * resolve(self.mass_i) * resolve(self.mass_j) / measure.value
        return Law(spring=energy / measure.value, actuator=energy.graph.zero, energy=energy)
