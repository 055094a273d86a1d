"""What an FMU says about itself: the table of its variables, from the signal table, and modelDescription.xml; must not
know archives or slaves.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from lxml import etree

from mbdfmu.analyses import Settings
from mbdfmu.description import Experiment
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.fmi.interface import (
    INPUT,
    OPTIONS,
    PARAMETER,
    SETTING,
    SIGNAL,
    SOLVER,
    SOLVER_REFERENCES,
    Interface,
    Value,
    Variable,
)
from mbdfmu.lowering import Lowered
from mbdfmu.schemes import Scheme
from mbdfmu.signals import Signal
from mbdfmu.units import BASE, display_units, unit

START = ".start"
EPOCH = 315532800  # 1980-01-01, the first date that a zip archive can hold; what stands for "no date"
_TYPES = {float: "Real", int: "Integer", bool: "Boolean", str: "String"}

# True to what pythonfmu's wrapper around our slave can do. The target needs Python and mbdfmu, but no tool is run.
CAPABILITIES = {
    "needsExecutionTool": False,
    "canHandleVariableCommunicationStepSize": True,
    "canInterpolateInputs": False,
    "maxOutputDerivativeOrder": 0,
    "canRunAsynchronuously": False,
    "canBeInstantiatedOnlyOncePerProcess": False,
    "canNotUseMemoryManagementFunctions": True,
    "canGetAndSetFMUstate": True,
    "canSerializeFMUstate": False,
    "providesDirectionalDerivative": False,
}


# ---------------------------------------------------------------- variables


def interface_of(lowered: Lowered, settings: Settings) -> Interface:
    """The FMU's variables: all signals of the model, then the settings of the solver."""
    signals = [_signal_variable(k, signal, lowered) for k, signal in enumerate(lowered.model.signals.values())]
    return Interface(model=lowered.model.description.name, variables=(*signals, *_setting_variables(settings)))


def structured(name: str) -> str:
    """A signal's name in FMI's structured naming, which knows der(x) but nothing behind it: `x.der.start`."""
    return re.sub(r"^der\(([\w.]+)\)(\.\w+)$", r"\1.der\2", name)


def _signal_variable(k: int, signal: Signal, lowered: Lowered) -> Variable:
    common: dict[str, Any] = {
        "reference": k, "name": structured(signal.name), "causality": signal.causality, "minimum": signal.minimum,
        "maximum": signal.maximum, "unit": signal.unit, "text": signal.text,
    }  # fmt: skip
    if signal.causality == "input":
        return Variable(role=INPUT, index=lowered.inputs[signal.name], start=signal.start, **common)
    if signal.causality == "parameter":
        # A run cannot take over a new value before its next start: tunable parameters are fixed in this runtime.
        return Variable(role=PARAMETER, index=lowered.parameters[signal.name], start=signal.start, variability="fixed",
                        keeps=_kept(signal.name, lowered), **common)  # fmt: skip
    asked = signal.causality in ("output", "calculatedParameter")
    return Variable(role=SIGNAL, index=k, variability=signal.variability,
                    depends=_known(signal.node, lowered) if asked else None, **common)  # fmt: skip


def _kept(name: str, lowered: Lowered) -> tuple[str, int] | None:
    """The coordinate whose start value the parameter is."""
    signal = lowered.model.signals.get(name.removesuffix(START))
    if not name.endswith(START) or signal is None or signal.node.value is None:
        return None
    space, coordinate = signal.node.value
    return (space, lowered.coordinates[coordinate]) if space in ("q", "v") else None


def _known(node: Node, lowered: Lowered) -> tuple[int, ...]:
    """Where an initial value comes from: positions from all parameters, accelerations and reactions from inputs too."""
    spaces = {s.value[0] for s in node.support}
    named = {s.value[1] for s in node.support if s.value[0] in ("p", "u")}
    solved, driven = bool(spaces - {"p", "u", "t"}), bool(spaces - {"p", "u", "t", "q", "v"})
    return tuple(
        k
        for k, signal in enumerate(lowered.model.signals.values())
        if signal.name in named
        or (solved and signal.causality == "parameter")
        or (driven and signal.causality == "input")
    )


def _setting_variables(settings: Settings) -> Iterator[Variable]:
    for k, (name, value, low, high, text) in enumerate(_settings(settings)):
        yield Variable(
            reference=SOLVER_REFERENCES + k, name=name, role=SETTING, index=k, type=_TYPES[type(value)],
            causality="parameter", variability="fixed", start=value, minimum=low, maximum=high, text=text,
            unit="s" if name.endswith("step") else "",
        )  # fmt: skip


def _settings(s: Settings) -> Iterator[tuple[str, Value, float | None, float | None, str]]:
    """Name, value, bounds and text of what can be chosen about the solver."""
    yield f"{SOLVER}scheme", s.scheme, None, None, f"integration scheme: {', '.join(Scheme.names())}"
    yield (
        f"{SOLVER}tolerance",
        float(s.tolerance),
        0.0,
        None,
        "of the local error; where unchanged, the experiment's counts",
    )
    yield f"{SOLVER}step", float(s.step or 0), 0.0, None, "fixed step; 0 = error-controlled"
    yield f"{SOLVER}first_step", float(s.first_step or 0), 0.0, None, "first step; 0 = chosen"
    yield f"{SOLVER}largest_step", float(s.largest_step or 0), 0.0, None, "largest step; 0 = no limit"
    yield f"{SOLVER}smallest_step", float(s.smallest_step), 0.0, None, "smallest step, below which the solver gives up"
    chosen = Scheme.named(s.scheme).from_options(s.options)
    for f in fields(chosen):
        number = isinstance(f.default, float | int)
        low, high = (_finite(f.metadata[bound]) if number else None for bound in ("low", "high"))
        yield f"{OPTIONS}{f.name}", getattr(chosen, f.name), low, high, f.metadata["text"]


def _finite(bound: float) -> float | None:
    return bound if abs(bound) < float("inf") else None


# ---------------------------------------------------------------- XML


@dataclass(frozen=True, kw_only=True)
class About:
    """What the XML says besides the variables."""

    text: str
    tolerance: float
    experiment: Experiment | None
    log_categories: Mapping[str, str]


def model_description(interface: Interface, about: About, guid: str) -> bytes:
    """modelDescription.xml of FMI 2.0; the same arguments give the same bytes."""
    root = etree.Element("fmiModelDescription", _attributes(
        fmiVersion="2.0", modelName=interface.model, guid=guid, description=about.text or None, generationTool=_tool(),
        generationDateAndTime=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(build_time())),
        variableNamingConvention="structured",
    ))  # fmt: skip
    etree.SubElement(root, "CoSimulation", _attributes(modelIdentifier=interface.model, **CAPABILITIES))
    _add_units(root, interface.variables)
    categories = etree.SubElement(root, "LogCategories")
    for name, text in about.log_categories.items():
        etree.SubElement(categories, "Category", _attributes(name=name, description=text))
    _add_experiment(root, about)
    variables = etree.SubElement(root, "ModelVariables")
    for variable in interface.variables:
        _add_variable(variables, variable)
    _add_structure(root, interface.variables)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def build_time() -> int:
    """Seconds since 1970: SOURCE_DATE_EPOCH, else a constant, so that the same model gives the same bytes."""
    text = os.environ.get("SOURCE_DATE_EPOCH", str(EPOCH))
    try:
        seconds = int(text)
        time.gmtime(seconds)
    except (ValueError, OverflowError, OSError):
        raise ModelError(
            f"SOURCE_DATE_EPOCH must be a whole number of seconds since 1970, found {text!r}; unset or correct it"
        ) from None
    return seconds


def _tool() -> str:
    try:
        return f"mbdfmu {version('mbdfmu')} with pythonfmu {version('pythonfmu')}"
    except PackageNotFoundError:  # run from a source folder
        return "mbdfmu"


def _attributes(**given: Any) -> dict[str, str]:
    return {name: _written(value) for name, value in given.items() if value is not None}


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)  # repr: all digits


def _add_units(root: etree._Element, variables: Iterable[Variable]) -> None:
    names = dict.fromkeys(v.unit for v in variables if v.unit)
    if not names:
        return
    definitions = etree.SubElement(root, "UnitDefinitions")
    for name in names:
        this = unit(name)
        element = etree.SubElement(definitions, "Unit", _attributes(name=name))
        powers = {base: power for base, power in zip(BASE, this.exponents, strict=True) if power}
        etree.SubElement(element, "BaseUnit", _attributes(**powers, factor=None if this.is_si else this.factor))
        for shown in display_units(name):
            etree.SubElement(element, "DisplayUnit", _attributes(name=shown.text, factor=this.factor / shown.factor))


def _add_experiment(root: etree._Element, about: About) -> None:
    e = about.experiment
    etree.SubElement(root, "DefaultExperiment", _attributes(
        startTime=0.0, stopTime=e.stop_time if e else None, tolerance=float(about.tolerance),
        stepSize=e.step if e else None,
    ))  # fmt: skip


def _add_variable(parent: etree._Element, v: Variable) -> None:
    element = etree.SubElement(parent, "ScalarVariable", _attributes(
        name=v.name, valueReference=v.reference, description=v.text or None, causality=v.causality,
        variability=v.variability, initial=_INITIAL[v.causality],
    ))  # fmt: skip
    unit_ = v.unit or None if v.type == "Real" else None
    bound = int if v.type == "Integer" else float
    low, high = (None if b is None else bound(b) for b in (v.minimum, v.maximum))
    etree.SubElement(element, v.type, _attributes(unit=unit_, min=low, max=high, start=v.start))


_INITIAL = {
    "parameter": "exact", "calculatedParameter": "calculated", "output": "calculated", "local": "calculated",
    "input": None, "independent": None,
}  # fmt: skip


def _add_structure(root: etree._Element, variables: tuple[Variable, ...]) -> None:
    """Outputs depend on nothing: inputs act during steps, not at communication points (see `Instance`).

    Without the empty attribute masters would assume that every output depends on every input, and see algebraic loops.
    """
    structure = etree.SubElement(root, "ModelStructure")
    outputs = [k for k, v in enumerate(variables, 1) if v.causality == "output"]
    if outputs:
        element = etree.SubElement(structure, "Outputs")
        for k in outputs:
            etree.SubElement(element, "Unknown", _attributes(index=k, dependencies=""))
    unknowns = [(k, v.depends) for k, v in enumerate(variables, 1) if v.depends is not None]
    if unknowns:
        element = etree.SubElement(structure, "InitialUnknowns")
        for k, depends in unknowns:
            etree.SubElement(
                element, "Unknown", _attributes(index=k, dependencies=" ".join(str(d + 1) for d in depends))
            )
