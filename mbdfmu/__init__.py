"""Constrained multibody systems, simulated as index-3 equations and exported as FMUs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where every public name lives; nothing is imported before it is asked for (PEP 562).
_HOME = {
    "Model": "facade",
    "ModelError": "errors", "StepFailed": "errors", "ExpressionError": "errors",
    "Interrupted": "errors",
    "Body": "description", "Marker": "description", "Parameter": "description", "Input": "description",
    "Output": "description", "Motion": "description", "Coordinate": "description", "Constraint": "description",
    "Description": "facade", "Experiment": "description", "Initial": "description", "Orientation": "description",
    "Box": "description", "Cylinder": "description", "Rod": "description", "Sphere": "description",
    "Submodel": "description", "State": "description", "Variable": "description",
    "Event": "description", "Impact": "description", "Table": "description",
    "Equilibrium": "analyses", "LinearModel": "analyses", "Result": "results", "compare": "regression",
}  # fmt: skip
_MODULES = (
    "animation", "blocks", "cli", "controllers", "cosim", "expressions", "fmi", "fmu", "forces", "importers", "joints",
    "models", "regression", "reproduce", "results", "roads", "schemes", "units",
)  # fmt: skip
_ALIASES = {"fmu": "fmi", "models": "content"}  # what users call it: the room that has it

__all__ = ["__version__", *_HOME, *_MODULES]

if TYPE_CHECKING:
    from mbdfmu.analyses import Equilibrium as Equilibrium
    from mbdfmu.analyses import LinearModel as LinearModel
    from mbdfmu.description import (
        Body as Body,
    )
    from mbdfmu.description import (
        Box as Box,
    )
    from mbdfmu.description import (
        Constraint as Constraint,
    )
    from mbdfmu.description import (
        Coordinate as Coordinate,
    )
    from mbdfmu.description import (
        Cylinder as Cylinder,
    )
    from mbdfmu.description import (
        Description as Description,
    )
    from mbdfmu.description import (
        Event as Event,
    )
    from mbdfmu.description import (
        Experiment as Experiment,
    )
    from mbdfmu.description import (
        Impact as Impact,
    )
    from mbdfmu.description import (
        Initial as Initial,
    )
    from mbdfmu.description import (
        Input as Input,
    )
    from mbdfmu.description import (
        Marker as Marker,
    )
    from mbdfmu.description import (
        Motion as Motion,
    )
    from mbdfmu.description import (
        Orientation as Orientation,
    )
    from mbdfmu.description import (
        Output as Output,
    )
    from mbdfmu.description import (
        Parameter as Parameter,
    )
    from mbdfmu.description import (
        Rod as Rod,
    )
    from mbdfmu.description import (
        Sphere as Sphere,
    )
    from mbdfmu.description import (
        State as State,
    )
    from mbdfmu.description import (
        Submodel as Submodel,
    )
    from mbdfmu.description import (
        Table as Table,
    )
    from mbdfmu.description import (
        Variable as Variable,
    )
    from mbdfmu.errors import ExpressionError as ExpressionError
    from mbdfmu.errors import Interrupted as Interrupted
    from mbdfmu.errors import ModelError as ModelError
    from mbdfmu.errors import StepFailed as StepFailed
    from mbdfmu.facade import Model as Model
    from mbdfmu.regression import compare as compare
    from mbdfmu.results import Result as Result


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"mbdfmu.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"mbdfmu.{_ALIASES.get(name, name)}")
    raise AttributeError(f"module 'mbdfmu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
