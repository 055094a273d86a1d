"""modelDescription.xml of FMI 2.0, written from the table of variables; must not know models, archives or runtimes.

Section numbers are those of FMI 2.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
from mbdfmu.fmi.variables import Table, Variable

# Section 2.2.7: constants and parameters are as they stand here, the rest follows from them.
_INITIAL = {
    "parameter": "exact", "calculatedParameter": "calculated", "output": "calculated", "local": "calculated",
    "input": None, "independent": None,
}  # fmt: skip


def model_description(table: Table, about: About, kinds: Kinds, guid: str) -> bytes:
    """The XML of an FMU; the same arguments give the same bytes."""
    root = etree.Element("fmiModelDescription", attributes(
        fmiVersion="2.0", modelName=table.model, guid=guid, description=about.text or None, generationTool=about.tool,
        generationDateAndTime=build_date(), variableNamingConvention="structured",
        numberOfEventIndicators=table.event_indicators,
    ))  # fmt: skip
    for kind, capabilities in kinds.items():
        etree.SubElement(root, kind, attributes(modelIdentifier=about.identifier, **capabilities))
    add_units(root, table)
    types = type_names(table)
    _add_types(root, table, types)
    add_circumstances(root, about)
    _add_variables(root, table, types)
    _add_structure(root, table.variables)
    return written_xml(root)


def _add_types(root: etree._Element, table: Table, names: Mapping[str, str]) -> None:
    if not names:
        return
    definitions = etree.SubElement(root, "TypeDefinitions")
    for unit in (key for key in names if key in QUANTITIES):
        quantity = QUANTITIES[unit]
        simple = etree.SubElement(definitions, "SimpleType", attributes(name=names[unit]))
        shown_in = quantity.shown_in or None
        etree.SubElement(simple, "Real", attributes(quantity=quantity.name, unit=unit, displayUnit=shown_in))
    for choice in table.enumerations():
        simple = etree.SubElement(definitions, "SimpleType", attributes(name=names[choice.name]))
        element = etree.SubElement(simple, "Enumeration")
        for number, (item, text) in enumerate(choice.items, 1):
            etree.SubElement(element, "Item", attributes(name=item, value=number, description=text or None))


# ---------------------------------------------------------------- variables


def _add_variables(root: etree._Element, table: Table, types: Mapping[str, str]) -> None:
    parent = etree.SubElement(root, "ModelVariables")
    place = places(table.variables)
    for v in table.variables:
        initial = "exact" if v.variability == "constant" else _INITIAL[v.causality]
        element = etree.SubElement(parent, "ScalarVariable", attributes(
            name=v.name, valueReference=v.reference, description=v.text or None, causality=v.causality,
            variability=v.variability, initial=initial,
        ))  # fmt: skip
        derivative = None if v.derivative_of is None else place[v.derivative_of]
        etree.SubElement(
            element, v.type, attributes(**details(v, types), start=v.start, derivative=derivative)
        )


def places(variables: Iterable[Variable]) -> dict[int, int]:
    """Where a variable stands in the XML, from 1, by its value reference."""
    return {v.reference: k for k, v in enumerate(variables, 1)}


# ---------------------------------------------------------------- structure


def _add_structure(root: etree._Element, variables: Sequence[Variable]) -> None:
    """Section 2.2.8: dependencies are always written, for what has none counts as depending on everything."""
    structure = etree.SubElement(root, "ModelStructure")
    outputs = {v.reference: v.depends or () for v in variables if v.causality == "output"}
    rates = sorted((v for v in variables if v.derivative_of is not None), key=lambda v: v.index)
    derivatives = {v.reference: v.depends or () for v in rates}
    at_start = {v.reference: v.initially for v in variables if v.initially is not None}
    place = places(variables)
    for name, unknowns in (("Outputs", outputs), ("Derivatives", derivatives), ("InitialUnknowns", at_start)):
        _add_unknowns(structure, name, {place[r]: [place[d] for d in depends] for r, depends in unknowns.items()})


def _add_unknowns(structure: etree._Element, name: str, unknowns: Mapping[int, Sequence[int]]) -> None:
    if not unknowns:
        return
    element = etree.SubElement(structure, name)
    in_order = unknowns if name == "Derivatives" else sorted(unknowns)  # of the states
    for k in in_order:
        dependencies = " ".join(map(str, sorted(unknowns[k])))
        etree.SubElement(element, "Unknown", attributes(index=k, dependencies=dependencies))
