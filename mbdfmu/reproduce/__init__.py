"""The tables and figures of the papers, computed anew: `PAPERS` holds them, `chosen` finds them by name."""

from mbdfmu.reproduce.catalogue import PAPERS, chosen, items
from mbdfmu.reproduce.items import Item, Paper, Row, Verdict

__all__ = ["PAPERS", "Item", "Paper", "Row", "Verdict", "chosen", "items"]
