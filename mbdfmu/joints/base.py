"""What a joint is: the primitives it holds and the motions it leaves free; must not know any joint or index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from mbdfmu.description import Joint
from mbdfmu.frames import Frame, Measure, Primitive

Resolve = Callable[[Any], Any]  # a value or point of the description -> its node or pair of nodes


class PlanarJoint(Joint):
    """Base of the planar joints."""

    freedoms: ClassVar[int]  # of two bodies relative to each other
    modelica: ClassVar[str] = ""  # the component of the Modelica Standard Library that does the same

    def primitives(self, i: Frame, j: Frame, resolve: Resolve) -> tuple[Primitive, ...]:
        """The constraints between the frames at both ends."""
        raise TypeError(f"joint type '{self.type_name}' defines no primitives")

    def free(self, i: Frame, j: Frame, resolve: Resolve) -> Mapping[str, Measure]:
        """Named coordinates of the motions left free."""
        return {}
