"""modelDescription.xml of FMI 3.0, written from the table of variables; must not know models, archives or runtimes.

Section numbers are those of FMI 3.0.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lxml import etree

from mbdfmu.fmi.markup import (
    About,
    Kinds,
    add_circumstances,
    add_units,
    attributes,
    build_date,
    details,
    type_names,
    written_xml,
)
from mbdfmu.fmi.types import QUANTITIES
from mbdfmu.fmi.variables import SLOPE, Table, Variable

ELEMENTS = {
    "Real": "Float64", "Integer": "Int32", "Boolean": "Boolean", "Enumeration": "Enumeration", "String": "String",
}  # fmt: skip


def model_description(table: Table, about: About, kinds: Kinds, token: str) -> bytes:
    """The XML of an FMU; the same arguments give the same bytes."""
    root = etree.Element("fmiModelDescription", attributes(
        fmiVersion="3.0", modelName=table.model, instantiationToken=token, description=about.text or None,
        generationTool=about.tool, generationDateAndTime=build_date(), variableNamingConvention="structured",
    ))  # fmt: skip
    for kind, capabilities in kinds.items():
        etree.SubElement(root, kind, attributes(modelIdentifier=about.identifier, **capabilities))
    add_units(root, table)
    types = type_names(table)
    _add_types(root, table, types)
    add_circumstances(root, about)
    parent = etree.SubElement(root, "ModelVariables")
    for v in table.variables:
        _add_variable(parent, v, types)
    _add_structure(root, table.variables)
    return written_xml(root)


def _add_types(root: etree._Element, table: Table, names: Mapping[str, str]) -> None:
    if not names:
        return
    definitions = etree.SubElement(root, "TypeDefinitions")
    for unit in (key for key in names if key in QUANTITIES):
        quantity = QUANTITIES[unit]
        shown_in = quantity.shown_in or None
        etree.SubElement(definitions, "Float64Type", attributes(
            name=names[unit], quantity=quantity.name, unit=unit, displayUnit=shown_in,
        ))  # fmt: skip
    for choice in table.enumerations():
        element = etree.SubElement(definitions, "EnumerationType", attributes(name=names[choice.name]))
        for number, (item, text) in enumerate(choice.items, 1):
            etree.SubElement(element, "Item", attributes(name=item, value=number, description=text or None))


# ---------------------------------------------------------------- variables


def _add_variable(parent: etree._Element, v: Variable, types: Mapping[str, str]) -> None:
    """Section 2.4.7; `initial` is the default of causality and variability everywhere."""
    moving = v.type == "Real" and v.variability == "continuous" and v.causality != "independent"
    within = True if moving and v.role != SLOPE else None  # inputs lead to what they are set to
    element = etree.SubElement(parent, ELEMENTS[v.type], attributes(
        name=v.name, valueReference=v.reference, description=v.text or None, causality=v.causality,
        variability=v.variability, intermediateUpdate=within, **details(v, types),
        start=None if v.type == "String" else _start(v),
    ))  # fmt: skip
    if v.size > 1:
        etree.SubElement(element, "Dimension", attributes(start=v.size))
    if v.type == "String" and v.start is not None:
        etree.SubElement(element, "Start", attributes(value=v.start))


def _start(v: Variable) -> str | None:
    return " ".join(attributes(start=start)["start"] for start in v.starts) or None


# ---------------------------------------------------------------- structure


def _add_structure(root: etree._Element, variables: Iterable[Variable]) -> None:
    """Section 2.4.8: dependencies are always written, for what has none counts as depending on everything.

    Among the knowns are parameters here; any output may hold any tunable one.
    """
    structure = etree.SubElement(root, "ModelStructure")
    variables = list(variables)
    tunable = [v.reference for v in variables if v.causality == "parameter" and v.variability == "tunable"]
    lists = {
        "Output": {v.reference: (*(v.depends or ()), *tunable) for v in variables if v.causality == "output"},
        "InitialUnknown": {v.reference: v.initially for v in variables if v.initially is not None},
    }
    for name, unknowns in lists.items():
        for reference, depends in unknowns.items():
            dependencies = " ".join(map(str, sorted(depends)))
            etree.SubElement(structure, name, attributes(valueReference=reference, dependencies=dependencies))
