"""The spring, damper and actuator between two points."""

from typing import Annotated

from mbdfmu.description import In, NonNegative, Value
from mbdfmu.forces.base import ForceElement, Rate, Resolve, linear_spring
from mbdfmu.frames import Frame, Kernel, Load, Measure, distance


class Translational(ForceElement, name="translational"):
    """Spring, damper and actuator along the line between two points: force - k (l - l0) - c dl/dt (T4.1)."""

    modelica = "Modelica.Mechanics.MultiBody.Forces.SpringDamperParallel"

    stiffness: Annotated[NonNegative, In("N/m")] = 0.0
    damping: Annotated[NonNegative, In("N.s/m")] = 0.0
    free_length: Annotated[Value, In("m")] = 0.0
    force: Annotated[Value, In("N")] = 0.0  # of the actuator; positive pushes the ends apart

    def measure(self, i: Frame, j: Frame) -> Measure:
        return distance(i, j)

    def load(self, i: Frame, j: Frame, resolve: Resolve, rate: Rate) -> Load:
        constants = (resolve(self.stiffness), resolve(self.damping), resolve(self.free_length))
        spring, energy = linear_spring(self.measure(i, j), *constants, rate)
        kernel = Kernel(table="transl", constants=(i.sx, i.sy, j.sx, j.sy, *constants))
        return Load(spring=spring, actuator=resolve(self.force), energy=energy, kernel=kernel)
