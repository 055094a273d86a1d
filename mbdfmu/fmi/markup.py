"""What the modelDescription.xml of every FMI version share: texts, numbers, dates, units; must not know any version."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lxml import etree

from mbdfmu.description import Experiment
from mbdfmu.errors import ModelError
from mbdfmu.fmi.types import QUANTITIES
from mbdfmu.fmi.variables import Table, Variable
from mbdfmu.units import BASE, display_units, unit

Kinds = Mapping[str, Mapping[str, bool | int]]  # CoSimulation or ModelExchange, with what it can do
EPOCH = 315532800  # 1980-01-01, the first date that a zip archive can hold; what stands for "no date"


@dataclass(frozen=True, kw_only=True)
class About:
    """What the XML says besides the variables."""

    identifier: str  # of the model's functions and binaries
    tool: str
    text: str
    tolerance: float
    experiment: Experiment | None
    log_categories: Mapping[str, str]


def attributes(**given: Any) -> dict[str, str]:
    """As XML writes them; what is None is left out."""
    return {name: _written(value) for name, value in given.items() if value is not None}


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)  # repr: all digits that make a difference


def written_xml(root: etree._Element) -> bytes:
    """The file; the same tree gives the same bytes."""
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)


# ---------------------------------------------------------------- dates


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


def build_date() -> str:
    """The same as FMI wants it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(build_time()))


# ---------------------------------------------------------------- log and experiment


def add_circumstances(root: etree._Element, about: About) -> None:
    """LogCategories and DefaultExperiment."""
    categories = etree.SubElement(root, "LogCategories")
    for name, text in about.log_categories.items():
        etree.SubElement(categories, "Category", attributes(name=name, description=text))
    e = about.experiment
    etree.SubElement(root, "DefaultExperiment", attributes(
        startTime=0.0, stopTime=e.stop_time if e else None, tolerance=float(about.tolerance),
        stepSize=e.step if e else None,
    ))  # fmt: skip


# ---------------------------------------------------------------- units and types


def add_units(root: etree._Element, table: Table) -> None:
    """UnitDefinitions: value in base units = factor * value; value in a display unit = factor * value."""
    names = dict.fromkeys(v.unit for v in table.variables if v.unit)
    if not names:
        return
    definitions = etree.SubElement(root, "UnitDefinitions")
    for name in names:
        this = unit(name)
        element = etree.SubElement(definitions, "Unit", attributes(name=name))
        powers = {base: power for base, power in zip(BASE, this.exponents, strict=True) if power}
        etree.SubElement(element, "BaseUnit", attributes(**powers, factor=None if this.is_si else this.factor))
        for shown in display_units(name):
            etree.SubElement(element, "DisplayUnit", attributes(name=shown.text, factor=this.factor / shown.factor))


def type_names(table: Table) -> dict[str, str]:
    """The names of the types that variables have, by unit and by choice; no variable may be called like a type."""
    taken = {v.name for v in table.variables}
    wanted = {v.unit: QUANTITIES[v.unit].name for v in table.variables if v.unit in QUANTITIES}
    wanted |= {choice.name: choice.name for choice in table.enumerations()}
    return {key: _free(name, taken) for key, name in wanted.items()}


def _free(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name += "Type"
    return name


# ---------------------------------------------------------------- what variables say of their type


def details(v: Variable, types: Mapping[str, str]) -> dict[str, Any]:
    """Attributes that depend on the type, the start value aside; `types` by unit and by choice."""
    return _DETAILS[v.type](v, types)


def _real(v: Variable, types: Mapping[str, str]) -> dict[str, Any]:
    """Unit and quantity stand here too: not every importer looks into the type."""
    quantity = QUANTITIES[v.unit].name if v.unit in QUANTITIES else None
    return {"declaredType": types.get(v.unit), "quantity": quantity, "unit": v.unit or None, "min": v.minimum,
            "max": v.maximum, "nominal": v.nominal}  # fmt: skip


def _integer(v: Variable, types: Mapping[str, str]) -> dict[str, Any]:
    low, high = (None if bound is None else int(bound) for bound in (v.minimum, v.maximum))
    return {"min": low, "max": high}


def _enumeration(v: Variable, types: Mapping[str, str]) -> dict[str, Any]:
    return {"declaredType": types[v.choices.name] if v.choices else None, **_integer(v, types)}


def _plain(v: Variable, types: Mapping[str, str]) -> dict[str, Any]:
    return {}


_DETAILS: dict[str, Callable[[Variable, Mapping[str, str]], dict[str, Any]]] = {
    "Real": _real, "Integer": _integer, "Enumeration": _enumeration, "Boolean": _plain, "String": _plain,
}  # fmt: skip
