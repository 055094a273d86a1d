"""The Cardan joint."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self

from pydantic import model_validator

from mbdfmu import spatial
from mbdfmu.counterparts import Library, Moving, joint
from mbdfmu.description import Direction, In, Mirrored
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.joints.base import Freedoms, JointElement, X, Y, cross_of, refuse_parallel
from mbdfmu.spatial import SpatialFrame


class Universal(JointElement, name="universal"):
    """Cardan joint: the origins stay together, and an axis of i stays perpendicular to one of j."""

    freedoms = Freedoms(spatial=2)
    modelica = Library(
        name=joint("Universal"),
        parameters={"n_a": "axis_i", "n_b": "axis_j"},
        coordinates={"angle_1": Moving("phi_a", "w_a", "a_a"), "angle_2": Moving("phi_b", "w_b", "a_b")},
    )
    parity: ClassVar = {3: {"angle_1": "even", "angle_2": "even"}}

    axis_i: Annotated[Direction, In("1"), Mirrored("axial")] = X  # of the cross in frame i
    axis_j: Annotated[Direction, In("1"), Mirrored("axial")] = Y  # of the cross in frame j, made perpendicular

    @model_validator(mode="after")
    def _two_axes(self) -> Self:
        refuse_parallel(self.axis_i, self.axis_j)
        return self

    def counterpart_axes(self, resolve: Callable[[Any], Any]) -> dict[str, Any]:
        """The library's cross keeps its axes as they are given: they have to be perpendicular."""
        first, second = cross_of(self.axis_i, self.axis_j, resolve)  # type: ignore[arg-type]
        return {"n_a": first, "n_b": second}

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        a, b = cross_of(self.axis_i, self.axis_j, resolve)
        held = spatial.coincident(i, j), spatial.perpendicular(i, a, j, b)
        return Recipe(primitives=held, free=spatial.universal_angles(i, a, j, b))
