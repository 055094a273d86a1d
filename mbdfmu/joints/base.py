"""What a joint is: a recipe of what it holds and leaves free; must not know any joint or index."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from mbdfmu.description import Joint
from mbdfmu.frames import Recipe, Resolve
from mbdfmu.planar import Frame
from mbdfmu.spatial import SpatialFrame

# Default directions; in a planar model the last component counts for nothing.
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


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
    modelica: ClassVar[str] = ""  # the component of the Modelica Standard Library that does the same

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
