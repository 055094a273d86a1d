"""One file per force element; a force enters its family by being imported here."""

from mbdfmu.forces.base import Ends, ForceBetween, ForceElement, ScalarForce
from mbdfmu.forces.beam import Beam
from mbdfmu.forces.bump_stop import BumpStop
from mbdfmu.forces.bushing import Bushing
from mbdfmu.forces.cylinder_box import CylinderBox
from mbdfmu.forces.drag import Drag
from mbdfmu.forces.friction import Friction
from mbdfmu.forces.general import General
from mbdfmu.forces.gravitation import Gravitation
from mbdfmu.forces.joint_friction import JointFriction
from mbdfmu.forces.point_plane import PointPlane
from mbdfmu.forces.rotational import Rotational
from mbdfmu.forces.single import Single
from mbdfmu.forces.sphere_box import SphereBox
from mbdfmu.forces.sphere_plane import SpherePlane
from mbdfmu.forces.sphere_sphere import SphereSphere
from mbdfmu.forces.translational import Translational
from mbdfmu.forces.tyre import Tyre
from mbdfmu.forces.vector import VectorForce
from mbdfmu.forces.wheel_road import WheelRoad

__all__ = [
    "Beam",
    "BumpStop",
    "Bushing",
    "CylinderBox",
    "Drag",
    "Ends",
    "ForceBetween",
    "ForceElement",
    "Friction",
    "General",
    "Gravitation",
    "JointFriction",
    "PointPlane",
    "Rotational",
    "ScalarForce",
    "Single",
    "SphereBox",
    "SpherePlane",
    "SphereSphere",
    "Translational",
    "Tyre",
    "VectorForce",
    "WheelRoad",
]
