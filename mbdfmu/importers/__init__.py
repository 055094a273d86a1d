"""Files of other programs become models, what these cannot hold is said; must not know how a model is computed."""

from mbdfmu.importers.urdf import BASES, Imported, read_urdf

__all__ = ["BASES", "Imported", "read_urdf"]
