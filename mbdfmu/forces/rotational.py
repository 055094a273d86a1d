"""The spring, damper and motor between two frames."""

from typing import Annotated, Any, ClassVar

from mbdfmu.counterparts import axis_torque
from mbdfmu.description import Direction, In, Mirrored, NonNegative, Only, TableName, Value
from mbdfmu.forces.base import SpringDamper
from mbdfmu.frames import Kernel, Law, Measure, Resolve
from mbdfmu.planar import Frame, relative_angle
from mbdfmu.spatial import angle_about
from mbdfmu.vectors import unit


class Rotational(SpringDamper, name="rotational"):
    """Torsion spring, damper and motor: torque - k (angle - a0) - c omega, on the angle of j to i (T4.2)."""

    linear = False
    modelica = axis_torque()
    parity: ClassVar = {2: {"angle": "odd", "torque": "odd"}, 3: {"angle": "even", "torque": "even"}}

    stiffness: Annotated[NonNegative, In("N.m/rad")] = 0.0
    damping: Annotated[NonNegative, In("N.m.s/rad")] = 0.0
    free_angle: Annotated[Value, In("rad"), Mirrored("odd", dimensions=2)] = 0.0
    spring_table: Annotated[TableName | None, Mirrored("refused", dimensions=2)] = None
    damper_table: Annotated[TableName | None, Mirrored("refused", dimensions=2)] = None
    # of the motor; positive turns j forward, i backward
    torque: Annotated[Value, In("N.m"), Mirrored("odd", dimensions=2)] = 0.0
    # that both frames share
    axis: Annotated[Direction, In("1"), Mirrored("axial"), Only(3, "leave it out")] = (0.0, 0.0, 1.0)

    def measure(self, i: Any, j: Any, resolve: Resolve) -> Measure:
        if isinstance(i, Frame):
            return relative_angle(i, j)
        return angle_about(i, j, unit(resolve(self.axis)))

    def law(self, measure: Measure, i: Any, j: Any, resolve: Resolve) -> Law:
        free = resolve(self.free_angle)
        spring, energy = self.spring_and_damper(measure, free, resolve)
        kernel = None
        if isinstance(i, Frame) and self.is_linear:
            constants = (resolve(self.stiffness), resolve(self.damping), free - (j.turn - i.turn))
            kernel = Kernel(table="rotat", constants=constants)
        return Law(spring=spring, actuator=resolve(self.torque), energy=energy, kernel=kernel)
