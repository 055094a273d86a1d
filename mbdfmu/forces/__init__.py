"""One file per force element; a force enters its family by being imported here."""

from mbdfmu.forces.base import Ends, ForceBetween, ForceElement, ScalarForce
from mbdfmu.forces.rotational import Rotational
from mbdfmu.forces.translational import Translational

__all__ = ["Ends", "ForceBetween", "ForceElement", "Rotational", "ScalarForce", "Translational"]
