"""The ball on a plane; in the plane of the model the disc on a line."""

from typing import Annotated

from mbdfmu.description import In, Positive
from mbdfmu.expressions import Node
from mbdfmu.forces.on_plane import OnPlane
from mbdfmu.frames import Resolve


class SpherePlane(OnPlane, name="sphere_plane"):
    """Contact of a sphere at the origin of j with a plane through the origin of i (T4.24 to T4.26)."""

    radius: Annotated[Positive, In("m")]

    def reach(self, resolve: Resolve) -> Node:
        return resolve(self.radius)  # type: ignore[no-any-return]
