"""The spring, damper and motor between two frames."""

from typing import Annotated

from mbdfmu.description import In, NonNegative, Value
from mbdfmu.forces.base import ForceElement, Rate, Resolve, linear_spring
from mbdfmu.frames import Frame, Kernel, Load, Measure, relative_angle


class Rotational(ForceElement, name="rotational"):
    """Torsion spring, damper and motor: torque - k (angle - a0) - c omega, on the angle of j to i (T4.2)."""

    modelica = "Modelica.Mechanics.Rotational.Components.SpringDamper"

    stiffness: Annotated[NonNegative, In("N.m/rad")] = 0.0
    damping: Annotated[NonNegative, In("N.m.s/rad")] = 0.0
    free_angle: Annotated[Value, In("rad")] = 0.0
    torque: Annotated[Value, In("N.m")] = 0.0  # of the motor; positive turns j forward, i backward

    def measure(self, i: Frame, j: Frame) -> Measure:
        return relative_angle(i, j)

    def load(self, i: Frame, j: Frame, resolve: Resolve, rate: Rate) -> Load:
        stiffness, damping, free = resolve(self.stiffness), resolve(self.damping), resolve(self.free_angle)
        spring, energy = linear_spring(self.measure(i, j), stiffness, damping, free, rate)
        kernel = Kernel(table="rotat", constants=(stiffness, damping, free - (j.turn - i.turn)))
        return Load(spring=spring, actuator=resolve(self.torque), energy=energy, kernel=kernel)
