"""One file per scheme; a scheme enters its family by being imported here."""

from mbdfmu.schemes.base import Scheme
from mbdfmu.schemes.hht import Hht

__all__ = ["Hht", "Scheme"]
