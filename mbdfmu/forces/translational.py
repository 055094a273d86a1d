"""The spring, damper and actuator between two points."""

from typing import Annotated, Any, ClassVar

from mbdfmu.counterparts import Counterpart, Library, axis_force, force, line_force
from mbdfmu.description import Direction, In, NonNegative, Value
from mbdfmu.forces.base import SpringDamper, along
from mbdfmu.frames import Kernel, Law, Measure, Resolve
from mbdfmu.planar import Frame


class Translational(SpringDamper, name="translational"):
    """Spring, damper and actuator on the distance of the ends or along an axis: force - k (l - l0) - c dl/dt (T4.1)."""

    modelica = Library(
        name=force("SpringDamperParallel"),
        parameters={"c": "stiffness", "d": "damping", "s_unstretched": "free_length"},
    )
    parity: ClassVar = {2: {"length": "even", "force": "even"}, 3: {"length": "even", "force": "even"}}

    stiffness: Annotated[NonNegative, In("N/m")] = 0.0
    damping: Annotated[NonNegative, In("N.s/m")] = 0.0
    free_length: Annotated[Value, In("m")] = 0.0
    force: Annotated[Value, In("N")] = 0.0  # of the actuator; positive pushes the ends apart
    axis: Annotated[Direction | None, In("1")] = None  # in frame i, to act along; none: the line between the ends

    def counterpart(self, dimensions: int) -> Counterpart:
        """The library's spring has no actuator, axis or tables."""
        if self.axis is not None:
            return axis_force()
        return self.modelica if self.force == 0.0 and self.is_linear else line_force(self.modelica.name)

    def measure(self, i: Any, j: Any, resolve: Resolve) -> Measure:
        return along(i, j, self.axis, resolve)

    def law(self, measure: Measure, i: Any, j: Any, resolve: Resolve) -> Law:
        free = resolve(self.free_length)
        spring, energy = self.spring_and_damper(measure, free, resolve)
        kernel = None
        if isinstance(i, Frame) and self.axis is None and self.is_linear:
            constants = (*i.arm, *j.arm, resolve(self.stiffness), resolve(self.damping), free)
            kernel = Kernel(table="transl", constants=constants)
        return Law(spring=spring, actuator=resolve(self.force), energy=energy, kernel=kernel)
