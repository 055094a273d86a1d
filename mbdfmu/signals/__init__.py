"""The one table of variables: every name a user may say, with unit, causality and symbolic definition.

Expressions, results, `info`, FMI descriptions and recordings read it; nobody builds a second. Names are resolved here
and end in lowering.py, where indices begin. This room must not know indices or the solver.
"""

from mbdfmu.frames import Side
from mbdfmu.signals.builder import tabulate, unresolved
from mbdfmu.signals.table import (
    Algebraic,
    Constraint,
    Coordinate,
    Crossing,
    Event,
    ForceTerm,
    Function,
    Impact,
    Initial,
    RigidBody,
    Setting,
    Signal,
    State,
    SymbolicModel,
    Winding,
)

__all__ = [
    "Algebraic",
    "Constraint",
    "Coordinate",
    "Crossing",
    "Event",
    "ForceTerm",
    "Function",
    "Impact",
    "Initial",
    "RigidBody",
    "Setting",
    "Side",
    "Signal",
    "State",
    "SymbolicModel",
    "Winding",
    "tabulate",
    "unresolved",
]
