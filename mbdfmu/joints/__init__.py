"""One file per joint; a joint enters its family by being imported here."""

from mbdfmu.joints.base import Freedoms, JointElement, Relation
from mbdfmu.joints.constant_velocity import ConstantVelocity
from mbdfmu.joints.coupler import Coupler
from mbdfmu.joints.cylindrical import Cylindrical
from mbdfmu.joints.distance import Distance
from mbdfmu.joints.fixed import Fixed
from mbdfmu.joints.gear import Gear
from mbdfmu.joints.orientation import Orientation
from mbdfmu.joints.parallel_axes import ParallelAxes
from mbdfmu.joints.perpendicular_axes import PerpendicularAxes
from mbdfmu.joints.planar import Planar
from mbdfmu.joints.point_in_plane import PointInPlane
from mbdfmu.joints.point_on_line import PointOnLine
from mbdfmu.joints.prismatic import Prismatic
from mbdfmu.joints.revolute import Revolute
from mbdfmu.joints.rolling_disc import RollingDisc
from mbdfmu.joints.screw import Screw
from mbdfmu.joints.spherical import Spherical
from mbdfmu.joints.universal import Universal

__all__ = [
    "ConstantVelocity",
    "Coupler",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Freedoms",
    "Gear",
    "JointElement",
    "Orientation",
    "ParallelAxes",
    "PerpendicularAxes",
    "Planar",
    "PointInPlane",
    "PointOnLine",
    "Prismatic",
    "Relation",
    "Revolute",
    "RollingDisc",
    "Screw",
    "Spherical",
    "Universal",
]
