"""The XML of a description: what SSP can say in its own words, the rest in annotations; must not write any file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lxml import etree

from mbdfmu.cosim.description import Coupling, SystemDescription, split
from mbdfmu.cosim.ssp.annotations import annotate, annotate_master
from mbdfmu.cosim.ssp.markup import NAMESPACES, made, tagged, written
from mbdfmu.cosim.ssp.parameters import usual_section
from mbdfmu.cosim.ssp.structure import FMU, IMPLEMENTATIONS, free
from mbdfmu.cosim.ssp.units import ours
from mbdfmu.description.values import shown as quoted
from mbdfmu.errors import ModelError
from mbdfmu.fmi.harness import kinds, start_values
from mbdfmu.fmi.markup import build_date, written_xml
from mbdfmu.fmi.reading import FmuInfo, FmuVariable
from mbdfmu.fmi.running import converted
from mbdfmu.fmi.types import Value
from mbdfmu.units import BASE

_TYPES = {"Real": "Real", "Float64": "Real", "Float32": "Real", "Boolean": "Boolean", "String": "String",
          "Enumeration": "Enumeration"}  # fmt: skip
_IMPLEMENTATIONS = {kind: word for word, kind in IMPLEMENTATIONS.items()}
_UNSAID = ("Binary", "Clock")  # types that no connector of SSP 1.0 can carry to us
_UNWRITTEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CAUSALITIES = ("input", "output", "parameter")
Place = tuple[str, str]  # FMU and variable


class Writer:
    """The description as XML; what cannot be said is collected first."""

    def __init__(
        self, description: SystemDescription, facts: Mapping[str, FmuInfo], sources: Mapping[Path, str]
    ) -> None:
        self._description, self._facts, self._sources = description, facts, sources
        self._problems: list[str] = []
        self._values = {name: dict(self._settings(name)) for name in facts}
        self._ends = {
            name: [end for end in (split(name), split(coupling.source)) if self._is_there(f"couplings.{name}", end)]
            for name, coupling in description.couplings.items()
        }
        if self._problems:
            raise ModelError(self._problems)
        self._enumerations: dict[tuple[tuple[str, int], ...], str] = {}
        self._units: dict[str, None] = {}

    def _is_there(self, place: str, end: Place) -> bool:
        try:
            self._facts[end[0]].variable(end[1])
        except ModelError as error:
            self._problems.append(f"{place}: {error}")
            return False
        return True

    def _settings(self, name: str) -> Iterator[tuple[str, tuple[str, str, Value]]]:
        """Of each variable that is set: the section, the key and the value."""
        component, facts = self._description.fmus[name], self._facts[name]
        given = [(section, key, value) for section in ("parameters", "start", "inputs")
                 for key, value in getattr(component, section).items()]  # fmt: skip
        for section, key, value in given:
            try:
                if section == "inputs":
                    variable, value = facts.variable(key), converted(facts.variable(key), value)
                else:
                    ((variable, value),) = start_values(facts, **{"parameters": {}, "start": {}, section: {key: value}})
                if isinstance(value, str) and _UNWRITTEN.search(value):
                    raise ModelError(f"'{key}' has a character that no XML can hold, found {quoted(value)}; change it")
                yield variable.name, (section, key, value)
            except ModelError as error:
                self._problems += [f"fmus.{name}.{section}: {problem}" for problem in error.problems]

    def content(self) -> bytes:
        """The file."""
        d = self._description
        root = etree.Element(tagged("ssd:SystemStructureDescription"), nsmap=NAMESPACES)
        for key, value in {"version": "1.0", "name": d.name, "description": d.text}.items():
            if value:
                root.set(key, value)
        root.set("generationTool", f"mbdfmu {version('mbdfmu')}")
        root.set("generationDateAndTime", build_date())
        self._add_system(made(root, "ssd:System", name=d.name))
        self._add_definitions(root)
        if d.experiment is not None:
            made(root, "ssd:DefaultExperiment", startTime=0.0, stopTime=d.experiment.stop_time)
        annotate(root, self._own())
        return written_xml(root)

    def _own(self) -> dict[str, Any]:
        """What SSP cannot say of the system."""
        data = self._description.to_data()
        kept = ("format_version", "master", "record", "bonds")
        found: dict[str, Any] = {key: data[key] for key in kept if key in data}
        if self._description.inputs:
            found["inputs"] = self._sources[self._description.inputs]
        if self._description.experiment is not None:
            found["experiment"] = {k: v for k, v in data.get("experiment", {}).items() if k != "stop_time"}
        return found

    # ---- the system

    def _add_system(self, system: Any) -> None:
        free = self._free_inputs()
        connectors = made(system, "ssd:Connectors") if free else None
        for (fmu, name), connector in free.items():
            self._add_connector(connectors, self._facts[fmu].variable(name), connector)
        elements = made(system, "ssd:Elements")
        for name in self._description.fmus:
            self._add_component(elements, name)
        if free or self._description.couplings:
            connections = made(system, "ssd:Connections")
            for target, coupling in self._description.couplings.items():
                self._add_connection(connections, target, coupling)
            for (fmu, name), connector in free.items():
                made(connections, "ssd:Connection", startConnector=connector, endElement=fmu, endConnector=name)
        experiment = self._description.experiment
        annotate_master(system, experiment.step if experiment else None)

    def _free_inputs(self) -> dict[Place, str]:
        """Inputs that neither a coupling nor a value feeds, and connectors of the system that stand for them."""
        found = {
            (fmu, v.name): "" for fmu, facts in self._facts.items() for v in facts.variables
            if v.causality == "input" and v.type not in _UNSAID and v.name not in self._values[fmu]
            and f"{fmu}.{v.name}" not in self._description.couplings
        }  # fmt: skip
        taken: set[str] = set()
        for fmu, name in found:
            found[fmu, name] = free(f"{fmu}_{name}", taken)
            taken.add(found[fmu, name])
        return found

    def _add_component(self, elements: Any, name: str) -> None:
        component, values = self._description.fmus[name], self._values[name]
        kind = component.kind or "".join(kinds(self._facts[name])[:1])
        element = made(elements, "ssd:Component", name=name, type=FMU, source=self._sources[component.fmu],
                       implementation=_IMPLEMENTATIONS.get(kind), description=component.text)  # fmt: skip
        shown = [v for v in self._facts[name].variables if self._is_shown(name, v)]
        connectors = made(element, "ssd:Connectors") if shown else None
        for variable in shown:
            self._add_connector(connectors, variable, variable.name)
        if values:
            self._add_values(element, name)
        data = component.to_data()
        own = {key: data[key] for key in ("step", "tolerance", "kind") if isinstance(data, dict) and key in data}
        places = {variable: [section, key] for variable, (section, key, _) in values.items()
                  if (section, key) != (usual_section(self._facts[name].variable(variable)), variable)}  # fmt: skip
        annotate(element, {**own, **({"as": places} if places else {})})

    def _is_shown(self, name: str, v: FmuVariable) -> bool:
        """Outputs, what is connected, and parameters that are set."""
        if v.type in _UNSAID or v.causality not in _CAUSALITIES:
            return False
        is_set = v.name in self._values[name]
        coupled = f"{name}.{v.name}" in self._description.couplings
        return {"output": True, "input": coupled or not is_set, "parameter": is_set}[v.causality]

    def _add_connector(self, connectors: Any, variable: FmuVariable, name: str) -> None:
        connector = made(connectors, "ssd:Connector", name=name, kind=variable.causality)
        kind = _TYPES.get(variable.type, "Integer")
        if kind == "Enumeration" and variable.choices:
            made(connector, "ssc:Enumeration", name=self._enumeration(variable))
        elif kind == "Real" and variable.unit and ours(variable.unit):
            self._units[variable.unit] = None
            made(connector, "ssc:Real", unit=variable.unit)
        else:  # a unit that only the FMU knows is the one of its variable
            made(connector, f"ssc:{'Integer' if kind == 'Enumeration' else kind}")

    def _enumeration(self, variable: FmuVariable) -> str:
        """The name of a type; variables of the same items share it."""
        items = tuple(variable.choices.items())
        if items not in self._enumerations:
            self._enumerations[items] = free(variable.name, list(self._enumerations.values()))
        return self._enumerations[items]

    def _add_values(self, element: Any, name: str) -> None:
        binding = made(made(element, "ssd:ParameterBindings"), "ssd:ParameterBinding")
        values = made(made(binding, "ssd:ParameterValues"), "ssv:ParameterSet", version="1.0", name=name)
        parameters = made(values, "ssv:Parameters")
        for variable, (*_, value) in self._values[name].items():
            facts = self._facts[name].variable(variable)
            item = next((item for item, number in facts.choices.items() if number == value), None)
            kind = "Enumeration" if item is not None else _TYPES.get(facts.type, "Integer")
            kind = "Integer" if kind == "Enumeration" and item is None else kind
            one = made(made(parameters, "ssv:Parameter", name=variable), f"ssv:{kind}")
            one.set("value", written(value if item is None else item))
            if item is not None:
                one.set("name", self._enumeration(facts))

    def _add_connection(self, connections: Any, target: str, coupling: Coupling) -> None:
        """Without a factor units are converted, as SSP does; a factor stands for the conversion."""
        (end, end_name), (start, start_name) = split(target), split(coupling.source)
        suppress = True if coupling.factor is not None else None
        connection = made(connections, "ssd:Connection", startElement=start, startConnector=start_name, endElement=end,
                          endConnector=end_name, suppressUnitConversion=suppress)  # fmt: skip
        if coupling.factor is not None or coupling.offset:
            made(connection, "ssc:LinearTransformation", factor=coupling.factor, offset=coupling.offset or None)
        annotate(connection, {"delayed": True} if coupling.delayed else {})

    # ---- definitions

    def _add_definitions(self, root: Any) -> None:
        enumerations = made(root, "ssd:Enumerations") if self._enumerations else None
        for items, name in self._enumerations.items():
            enumeration = made(enumerations, "ssc:Enumeration", name=name)
            for item, value in items:
                made(enumeration, "ssc:Item", name=item, value=value)
        units = made(root, "ssd:Units") if self._units else None
        for name in self._units:
            known = ours(name)
            assert known is not None  # else it would not be among them
            powers = {base: power for base, power in zip(BASE, known.exponents, strict=True) if power}
            factor = None if known.factor == 1.0 else known.factor
            made(made(units, "ssc:Unit", name=name), "ssc:BaseUnit", **powers, factor=factor)
