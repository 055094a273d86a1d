"""Comparison of results with references; must not know how either was made."""

from .comparator import Comparison, Deviation, compare

__all__ = ["Comparison", "Deviation", "compare"]
