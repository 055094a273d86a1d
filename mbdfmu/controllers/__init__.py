"""Controllers: one definition of law and parameters, run in Python, inside a model and as an FMU.

Slaves in FMUs load this room in the host's Python: it needs the standard library only until something is asked for.
"""

from mbdfmu.controllers.base import SAMPLING, Controller, Law, Memory, Port, State, fixed, structural, tunable
from mbdfmu.controllers.functions import (
    absolute,
    both,
    cos,
    either,
    equal,
    exp,
    limited,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)
from mbdfmu.controllers.lqr import lqr_gains
from mbdfmu.controllers.running import Running
from mbdfmu.controllers.shipped import kind, load, members, names, unknown_wheels, wheel_names
from mbdfmu.controllers.twin import inside

__all__ = [
    "SAMPLING",
    "Controller",
    "Law",
    "Memory",
    "Port",
    "Running",
    "State",
    "absolute",
    "both",
    "cos",
    "either",
    "equal",
    "exp",
    "fixed",
    "inside",
    "kind",
    "limited",
    "load",
    "lqr_gains",
    "maximum",
    "members",
    "minimum",
    "names",
    "sign",
    "sin",
    "sqrt",
    "structural",
    "tanh",
    "tunable",
    "unknown_wheels",
    "wheel_names",
    "where",
]
