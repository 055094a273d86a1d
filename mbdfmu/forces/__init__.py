"""One file per force element; a force enters its family by being imported here."""

from mbdfmu.forces.base import ForceElement
from mbdfmu.forces.rotational import Rotational
from mbdfmu.forces.translational import Translational

__all__ = ["ForceElement", "Rotational", "Translational"]
