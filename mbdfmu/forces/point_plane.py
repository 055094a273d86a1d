"""The point above a plane."""

from mbdfmu.expressions import Node
from mbdfmu.forces.on_plane import OnPlane
from mbdfmu.frames import Resolve


class PointPlane(OnPlane, name="point_plane"):
    """Contact of the origin of j with a plane through the origin of i (T4.24 to T4.26)."""

    def reach(self, resolve: Resolve) -> Node:
        return resolve(0.0)  # type: ignore[no-any-return]
