"""From a package of SSP, or a bare description, to ours, with notes on what is different; must not run anything."""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbdfmu.cosim.description import FORMAT_VERSION, SystemDescription
from mbdfmu.cosim.ssp import BARE
from mbdfmu.cosim.ssp.annotations import has_own, own
from mbdfmu.cosim.ssp.connecting import FREE, Graph
from mbdfmu.cosim.ssp.markup import Findings, Tag, checked, parse
from mbdfmu.cosim.ssp.package import Archive, Beside, Package, Unpacked
from mbdfmu.cosim.ssp.parameters import Parameters, usual_section
from mbdfmu.cosim.ssp.structure import ANY, IMPLEMENTATIONS, Group, Leaf, identifier, name_leaves, read_group
from mbdfmu.cosim.ssp.units import Units
from mbdfmu.errors import ModelError
from mbdfmu.fmi.harness import kinds
from mbdfmu.fmi.reading import FmuVariable, info
from mbdfmu.fmi.types import Value

SYSTEM_KEYS = ("format_version", "master", "record", "bonds", "inputs", "experiment")
COMPONENT_KEYS = ("step", "tolerance", "kind", "as")


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A description, what is worth to know of it, and the folder that its files are in as long as this is held."""

    description: SystemDescription
    notes: tuple[str, ...]
    unpacked: Unpacked | None


def load(path: str | os.PathLike[str]) -> Loaded:
    """Read a .ssp or .ssd file; every line of the ModelError begins with the file."""
    file = Path(path)
    try:
        if not file.is_file():
            raise ModelError("there is no such file; check the path")
        with Beside(file) if file.suffix.lower() == BARE else Archive(file) as package:
            return _loaded(package)
    except ModelError as error:
        raise ModelError(f"{os.fspath(path)}: {problem}" for problem in error.problems) from None


def _loaded(package: Package) -> Loaded:
    findings = Findings()
    root = checked(parse(package.read(package.main), package.main, findings), "SystemStructureDescription")
    system = root.child("System")
    if system is None:
        raise ModelError(f"{package.main}: has no <System>; export it anew")
    data = _data(root, system, package, findings)
    description = _description(data, findings)
    if has_own(root):
        findings.forget(FREE)  # whoever has saved it knows
    return Loaded(description=description, notes=findings.notes, unpacked=package.unpacked)


def _description(data: dict[str, Any], findings: Findings) -> SystemDescription:
    """Checked; a ModelError lists all findings."""
    problems = dict.fromkeys(findings.problems)
    try:
        if data["fmus"] or not problems:
            description = SystemDescription(**data)
    except ModelError as error:
        problems |= dict.fromkeys(error.problems)
    if problems:
        raise ModelError(problems)
    return description


def _data(root: Tag, system: Tag, package: Package, findings: Findings) -> dict[str, Any]:
    """The data of a system file."""
    group = read_group(system)
    name_leaves(group, findings)
    files = {leaf.name: _file(leaf, package) for leaf in group.leaves()}
    graph = Graph(group, Units().with_those_of(root.children("Units", "Unit")), findings)
    graph.check_names()
    data = {"format_version": FORMAT_VERSION, "name": _name(root, findings), "text": root.get("description")}
    data |= _settings(root, package)
    fmus = {leaf.name: _component(leaf, files[leaf.name]) for leaf in group.leaves()}
    couplings = graph.couplings()
    _add_values(fmus, group, Parameters(group, graph, package, findings), couplings)
    return {**data, "fmus": fmus, "couplings": couplings}


def _name(root: Tag, findings: Findings) -> str:
    given = root.needed("name") or "system"
    name = identifier(given)
    if name != given:
        findings.note("renamed", f"'{given}' is {name}")
    return name


def _file(leaf: Leaf, package: Package) -> Path | None:
    """The FMU of a component, which is looked into; None where there is a finding."""
    source, file = leaf.tag.needed("source"), None
    try:
        file = package.file(source) if source else None
        leaf.facts = info(file) if file else None
    except ModelError as error:
        for problem in error.problems:  # the folder of what is unpacked says nothing
            leaf.tag.problem(f"'{leaf.shown}': {problem.replace(str(file), source) if file else problem}")
    return file


# ---------------------------------------------------------------- what only we say


def _settings(root: Tag, package: Package) -> dict[str, Any]:
    """Our annotations, and the default experiment."""
    found = own(root, SYSTEM_KEYS)
    experiment = found.pop("experiment", None)
    tag = root.child("DefaultExperiment")
    if tag is not None:
        begin, end = tag.number("startTime"), tag.number("stopTime")
        if begin:
            root.findings.note("the default experiment begins later, give it to simulate(t_start=..)", f"{begin:g} s")
        if end:
            experiment = {**(experiment or {}), "stop_time": end}
    if experiment is not None:
        found["experiment"] = experiment
    if isinstance(found.get("inputs"), str):
        try:
            found["inputs"] = package.file(found["inputs"])
        except ModelError as error:
            root.problem(f"inputs: {error}")
    return found


def _component(leaf: Leaf, file: Path | None) -> dict[str, Any]:
    settings = own(leaf.tag, COMPONENT_KEYS)
    settings.pop("as", None)
    settings = {**_kind(leaf), **settings}
    text = leaf.tag.get("description")
    return {"fmu": file or leaf.tag.get("source") or leaf.name, **({"text": text} if text else {}), **settings}


def _kind(leaf: Leaf) -> dict[str, str]:
    """The wanted one, where the FMU would not be run so anyway."""
    word, facts = leaf.tag.get("implementation"), leaf.facts
    if word and word not in (ANY, *IMPLEMENTATIONS):
        known = ", ".join([ANY, *IMPLEMENTATIONS])
        leaf.tag.problem(f"'{leaf.shown}' is wanted as {word!r}; what can be coupled: {known}")
    wanted = IMPLEMENTATIONS.get(word)
    if wanted is None or facts is None:
        return {}
    if wanted not in facts.kinds:
        leaf.tag.problem(f"'{leaf.shown}' is wanted for {wanted}, its FMU is for {' and '.join(facts.kinds)}; "
                         'take out implementation="..", or replace the FMU')  # fmt: skip
    return {"kind": wanted} if kinds(facts)[:1] != [wanted] else {}


def _add_values(fmus: dict[str, dict[str, Any]], group: Group, found: Parameters, couplings: Container[str]) -> None:
    """Parameters, start values and constant inputs; what is coupled has start values only."""
    leaves = {leaf.name: leaf for leaf in group.leaves()}
    names = {name: own(leaf.tag, COMPONENT_KEYS).get("as") for name, leaf in leaves.items()}
    for (name, variable), (facts, value) in found.values.items():
        given = names[name]
        said = given.get(variable) if isinstance(given, dict) else None
        section, key = said if isinstance(said, list) and _is_place(said) else (usual_section(facts), variable)
        section = "start" if f"{name}.{key}" in couplings else section
        if section != "parameters" and isinstance(value, bool | str):
            value = _numeric(leaves[name], facts, value)
        fmus[name].setdefault(section, {})[key] = value


def _is_place(said: list[Any]) -> bool:
    return len(said) == 2 and said[0] in ("parameters", "start", "inputs")


def _numeric(leaf: Leaf, variable: FmuVariable, value: Value) -> Value:
    """Start values and constant inputs are numbers in a system file."""
    if isinstance(value, str):
        if value not in variable.choices:
            leaf.tag.problem(f"'{leaf.shown}': {variable.name} is a text, which no constant input can be; take it out")
        return variable.choices.get(value, 0)
    return float(value)
