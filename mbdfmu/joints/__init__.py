"""One file per joint; a joint enters its family by being imported here."""

from mbdfmu.joints.base import PlanarJoint
from mbdfmu.joints.distance import Distance
from mbdfmu.joints.fixed import Fixed
from mbdfmu.joints.point_on_line import PointOnLine
from mbdfmu.joints.prismatic import Prismatic
from mbdfmu.joints.revolute import Revolute

__all__ = ["Distance", "Fixed", "PlanarJoint", "PointOnLine", "Prismatic", "Revolute"]
