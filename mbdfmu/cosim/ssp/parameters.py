"""Values from parameter sets and mappings to variables of FMUs; must not know connections of other kinds, nor runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mbdfmu.cosim.ssp.connecting import Graph
from mbdfmu.cosim.ssp.markup import Findings, Tag, checked, parse
from mbdfmu.cosim.ssp.package import Package
from mbdfmu.cosim.ssp.structure import Group, Leaf, transformation
from mbdfmu.cosim.ssp.units import Affine, Units
from mbdfmu.description.values import shown
from mbdfmu.errors import ModelError
from mbdfmu.fmi.reading import FmuVariable
from mbdfmu.fmi.running import converted
from mbdfmu.fmi.types import Value

SET, MAPPING = "application/x-ssp-parameter-set", "application/x-ssp-parameter-mapping"
_WHOLE = ("Integer", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)))
_REAL = ("Real", "Float64", "Float32")


@dataclass(frozen=True, kw_only=True)
class Given:
    """A value on its way to a variable."""

    name: str
    value: Value
    unit: str  # '' is that of the variable
    units: Units  # that it may be of
    tag: Tag
    before: Affine | None = None  # a transformation of a mapping
    suppress: bool = False

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, float | int) and not isinstance(self.value, bool)


class Parameters:
    """The values of all variables that a description sets."""

    def __init__(self, root: Group, graph: Graph, package: Package, findings: Findings) -> None:
        self._graph, self._package, self._findings = graph, package, findings
        self.values: dict[tuple[str, str], tuple[FmuVariable, Value]] = {}
        self._apply(root)

    def _apply(self, group: Group) -> None:
        """What is further out counts more, what comes later too."""
        for element in group.elements.values():
            if isinstance(element, Group):
                self._apply(element)
            else:
                self._bind(element)
        self._bind(group)

    def _bind(self, element: Leaf | Group) -> None:
        for binding in element.tag.children("ParameterBindings", "ParameterBinding"):
            for given in self._mapped(binding):
                if not self._set(element, given.name, given):
                    self._findings.note("parameters that are of no variable are left out",
                                        f"{given.name} of '{element.shown}'")  # fmt: skip

    # ---- sources

    def _mapped(self, binding: Tag) -> list[Given]:
        """The values of a binding under the names of their targets."""
        root = self._source(binding, "ParameterValues", "ParameterSet", SET)
        if root is None:
            return []
        prefix = binding.get("prefix")
        units = self._graph.units.with_those_of(root.children("Units", "Unit"))
        values = [replace(given, name=prefix + given.name) for given in _values(root, units)]
        entries: dict[str, list[Tag]] = {}
        for mapping in binding.children("ParameterMapping"):
            content = self._source(mapping, "", "ParameterMapping", MAPPING)
            for entry in content.children("MappingEntry") if content is not None else ():
                if not entry.get("source"):
                    self._findings.note("mapping entries without a source are left out", entry.get("target"))
                entries.setdefault(entry.get("source"), []).append(entry)
        return [one for given in values for one in _through(given, entries.get(given.name, []))]

    def _source(self, tag: Tag, inner: str, name: str, kind: str) -> Tag | None:
        """The content of a set or a mapping: in the file itself, or in one that it names."""
        source = tag.get("source")
        if (tag.get("type") or kind) != kind:
            tag.problem(f"is of type '{tag.get('type')}', known is '{kind}'; convert it")
        elif not source:
            return tag.child(inner, name) if inner else tag.child(name)
        elif tag.get("sourceBase") == "component":
            tag.problem(f"takes {shown(source)} from inside a component; put it into resources")
        else:
            try:
                return checked(parse(self._package.read(source), source, self._findings), name)
            except ModelError as error:
                tag.problem("; ".join(error.problems))
        return None

    # ---- targets

    def _set(self, element: Leaf | Group, name: str, given: Given) -> bool:
        """Set what is called so below an element; False where there is nothing."""
        if isinstance(element, Leaf):
            return self._set_variable(element, name, given)
        if name in element.connectors or next(self._graph.ways_from((element.path, name)), None):
            self._set_connector(element, name, given)
            return True
        inner = [one for one in element.elements if name.startswith(f"{one}.")]
        for one in sorted(inner, key=len, reverse=True):
            if self._set(element.elements[one], name[len(one) + 1 :], given):
                return True
        return False

    def _set_variable(self, leaf: Leaf, name: str, given: Given, way: Affine | None = None) -> bool:
        if leaf.facts is None:
            return True  # its FMU is a finding already
        if name not in leaf.facts:
            return False
        variable = leaf.facts.variable(name)
        value = given.value
        if given.is_number:
            turned = way or self._turned(given, self._graph.unit((leaf.path, name)))
            value = turned.factor * float(value) + turned.offset if turned != Affine() else value
        elif given.before is not None:
            given.tag.problem(f"'{given.name}' is transformed, but is no number; take out the transformation")
        self._store(leaf, variable, _chosen(variable, value), given)
        return True

    def _store(self, leaf: Leaf, variable: FmuVariable, value: Value, given: Given) -> None:
        try:
            if not isinstance(value, str) or variable.type == "String" or variable.choices:
                converted(variable, value)
            else:
                raise ModelError(f"'{variable.name}' must be a number, found {value!r}")
        except ModelError as error:
            if f"{variable.name}.start" not in (leaf.facts or ()):
                given.tag.problem(f"sets '{given.name}' of '{leaf.shown}': {error}")
                return
        self.values.pop((leaf.name, variable.name), None)
        self.values[leaf.name, variable.name] = variable, value

    def _set_connector(self, group: Group, name: str, given: Given) -> None:
        """Over the connections to all variables behind a connector of a system."""
        unit = self._graph.unit((group.path, name))
        turned = self._turned(given, unit)
        for way in self._graph.ways_from((group.path, name)):
            carried, _ = self._graph.carried(way, unit or given.unit)
            path, variable = way[-1].end
            self._set_variable(self._graph.leaves[path], variable, given, turned.then(carried))

    def _turned(self, given: Given, wanted: str) -> Affine:
        """From the unit of a value to the one of its target, and the transformation of its mapping."""
        turned = Affine() if given.suppress else given.units.between(given.unit, wanted)
        if turned is None:
            given.tag.problem(f"'{given.name}' is in {given.unit}, wanted in {wanted}, and no unit definition says how "
                              "to convert it; correct the unit")  # fmt: skip
        return (turned or Affine()).then(given.before or Affine())


def _values(root: Tag, units: Units) -> Iterator[Given]:
    """The values of a parameter set; those that cannot be read are findings."""
    for parameter in root.children("Parameters", "Parameter"):
        name = parameter.needed("name")
        kind = next((child for child in parameter.children() if child.name not in ("Annotations", "Dimension")), None)
        if kind is None:
            parameter.problem(f"'{name}' has no value; give it")
            continue
        value = _value(kind, name)
        if name and value is not None:
            yield Given(name=name, value=value, unit=kind.get("unit"), units=units, tag=parameter)


def _value(tag: Tag, name: str) -> Value | None:
    text = tag.get("value")
    if tag.name in ("String", "Enumeration"):
        return text
    if len(text.split()) > 1:
        tag.problem(f"'{name}' has several values; give one for each element, as in '{name}[1]'")
    elif tag.name == "Boolean":
        return tag.flag("value")
    elif tag.name in _REAL or tag.name in _WHOLE:
        number = tag.number("value") if tag.needed("value") else 0.0
        return int(text) if tag.name in _WHOLE and re.fullmatch(r"\s*[+-]?[0-9]{1,20}\s*", text) else number
    else:
        tag.problem(f"'{name}' is of type {tag.name}, which cannot be set here; take it out")
    return None


def _through(given: Given, entries: list[Tag]) -> Iterator[Given]:
    """Under the names that a mapping gives it; without any, as it is."""
    if not entries:
        yield given
    for entry in entries:
        factor, offset = transformation(entry)
        before = Affine(factor, offset)
        yield replace(given, name=entry.needed("target"), before=None if before == Affine() else before,
                      suppress=entry.flag("suppressUnitConversion"))  # fmt: skip


def _chosen(variable: FmuVariable, value: Any) -> Value:
    """An item of an enumeration by its number, where some tool has written it as text."""
    if isinstance(value, str) and variable.choices and value not in variable.choices and value.strip("-").isdigit():
        return int(value)
    return value  # type: ignore[no-any-return]


def usual_section(variable: FmuVariable) -> str:
    """Where a system file sets a variable, if nothing else is said."""
    if variable.causality == "input":
        return "inputs"
    return "parameters" if "parameter" in variable.causality.lower() or variable.type == "String" else "start"
