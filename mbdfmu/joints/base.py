"""What a joint is: a recipe of what it holds and leaves free; must not know any joint or index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, NoReturn

from mbdfmu.coordinates import Vector
from mbdfmu.counterparts import Counterpart, Library, Local
from mbdfmu.description import Joint, parallel
from mbdfmu.errors import ModelError
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame
from mbdfmu.vectors import across, cross, unit

# Default directions; in a planar model the last component counts for nothing.
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def refuse_parallel(axis_i: tuple[float | str, ...], axis_j: tuple[float | str, ...]) -> None:
    """Two axes of a cross; what is left of parallel ones has no direction."""
    if parallel(axis_i, axis_j):
        _refuse(axis_i, axis_j)


def _refuse(axis_i: tuple[float | str, ...], axis_j: tuple[float | str, ...]) -> NoReturn:
    found = f"found {list(axis_i)} and {list(axis_j)}"
    raise ModelError(f"axis_i and axis_j must not be parallel, {found}; they are perpendicular in a cross")


def cross_of(
    axis_i: tuple[float | str, ...], axis_j: tuple[float | str, ...], resolve: Resolve
) -> tuple[Vector, Vector]:
    """The axes of a cross as unit vectors, the second made perpendicular to the first."""
    a, given = unit(resolve(axis_i)), unit(resolve(axis_j))
    if all(c is c.graph.zero for c in cross(a, given)):  # parallel whatever the parameters in them are
        _refuse(axis_i, axis_j)
    return a, across(a, given)


class Freedoms(NamedTuple):
    """How many relative motions two bodies keep; none where a joint exists in the other kind of model only."""

    planar: int | None = None
    spatial: int | None = None

    def of(self, dimensions: int) -> int | None:
        """In models of 2 or 3 dimensions."""
        return self.planar if dimensions == 2 else self.spatial


class JointElement(Joint):
    """Base of the joints: a member writes the recipe for planar models, for spatial ones, or both."""

    freedoms: ClassVar[Freedoms] = Freedoms()
    modelica: ClassVar[Counterpart | None] = None  # what does the same in Modelica
    closing: ClassVar[Library | Local | None] = None  # the same where it closes a loop: of the library in the plane

    def counterpart_axes(self, resolve: Callable[[Any], Any]) -> dict[str, Any]:
        """The parameters of the counterpart, resolved: fields as they are, where a joint does not say otherwise."""
        assert isinstance(self.modelica, Library)
        return {name: resolve(getattr(self, key)) for name, key in self.modelica.parameters.items()}

    def planar(self, i: Frame, j: Frame, resolve: Resolve) -> Recipe:
        """The joint between two frames in the plane."""
        raise TypeError(f"joint type '{self.type_name}' has no planar recipe")

    def spatial(self, i: SpatialFrame, j: SpatialFrame, resolve: Resolve) -> Recipe:
        """The joint between two frames in space."""
        raise TypeError(f"joint type '{self.type_name}' has no spatial recipe")


class Relation(JointElement):
    """Base of the equations between joint coordinates: no ends of their own, in the plane as in space."""

    # As class variables they are no fields any more: a file cannot give them.
    i: ClassVar[None] = None  # type: ignore[assignment, misc]
    j: ClassVar[None] = None  # type: ignore[assignment, misc]

    def relation(self, resolve: Resolve) -> Recipe:
        """The equation; the coordinates that it names are there already."""
        raise TypeError(f"joint type '{self.type_name}' has no equation")
