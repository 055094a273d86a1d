"""From a controller to an .fmu file; must not know any controller, nor what a slave does with the files."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from mbdfmu.controllers.base import Controller, Memory
from mbdfmu.controllers.functions import Symbol, text_of
from mbdfmu.controllers.slave import CONTROLLER, INPUT, PARAMETER, VALUE, Content, Entry
from mbdfmu.description import Experiment
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.files import atomic
from mbdfmu.fmi import archive, xml_fmi2
from mbdfmu.fmi.capabilities import CO_SIMULATION_2, NATIVE, PYTHON, RUNTIMES
from mbdfmu.fmi.markup import About
from mbdfmu.fmi.page import NEEDS_PYTHON
from mbdfmu.fmi.python_files import python_files, script_with
from mbdfmu.fmi.reading import DESCRIPTION
from mbdfmu.fmi.resources import DISCARD_LOG, ERROR_LOG, LOG_CATEGORIES
from mbdfmu.fmi.types import Enumeration
from mbdfmu.fmi.variables import SIGNAL, Table, Variable

SCRIPT = script_with("mbdfmu.controllers.fmu")
KINDS = {"CoSimulation": CO_SIMULATION_2[PYTHON]}
_TOLERANCE = 1e-8  # what the internal steps of a continuous controller keep, relative
_NAMES = re.compile(r"[A-Za-z_]\w*(?:\[\d+,\d+\])?")
_SAMPLED = (
    "The law is evaluated every <code>sample_time</code>. At a communication point that is a sample, outputs follow "
    "the inputs that are set there; samples within a step see the inputs as they were at its beginning.",
    "Outputs appear <code>delay</code> after their sample and hold until the next ones.",
)
_CONTINUOUS = (
    "Outputs follow inputs and states at once. A step integrates the states with inputs held, in as many internal "
    "steps as its time constants ask for.",
)
_COMMON = (
    "Steps may have any size. Parameters can be set until the initialization ends, tunable ones later too.",
    "States can be saved, restored and written as bytes. What is refused is logged, and discards every step until a "
    "state is restored or the instance is reset.",
)


def export(controller: Controller, path: str | os.PathLike[str], runtime: str, name: str) -> Path:
    """Write the FMU; an existing file is replaced as a whole or not at all."""
    _check(path, runtime, name)
    if runtime == NATIVE:
        return controller.model(name).export_fmu(path, runtime=NATIVE)
    about = About(
        identifier=archive.identifier(name), tool=archive.tool_of(PYTHON), text=type(controller).summary(),
        tolerance=_TOLERANCE, experiment=Experiment(step=controller.communication_step) if controller.sampled else None,
        log_categories={key: LOG_CATEGORIES[key] for key in (DISCARD_LOG, ERROR_LOG)},
    )  # fmt: skip
    table = table_of(controller, name)
    behaviour = (*NEEDS_PYTHON, *(_SAMPLED if controller.sampled else _CONTINUOUS), *_COMMON)
    files = _files(controller, table, about)
    files |= archive.papers(table, about, PYTHON, archive.INTERFACES["cs2"], behaviour=behaviour)
    with atomic(path) as temporary:
        archive.write(temporary, files)
    return Path(path)


def _check(path: str | os.PathLike[str], runtime: str, name: str) -> None:
    problems = []
    if runtime not in RUNTIMES:
        problems.append(f"unknown runtime {runtime!r}{did_you_mean(runtime, RUNTIMES)}; known: {', '.join(RUNTIMES)}")
    if not name.isidentifier() or not name.isascii():
        problems.append(f"the model's name must be letters, digits and _, starting with no digit, found {name!r}")
    if Path(path).suffix.lower() != archive.SUFFIX:
        problems.append(f"{os.fspath(path)}: the name of an FMU must end in {archive.SUFFIX}")
    if problems:
        raise ModelError(problems)


def _files(controller: Controller, table: Table, about: About) -> dict[str, bytes]:
    """What runs; the guid is a digest of all that is no library."""
    source, kind = _source_of(type(controller))
    file = f"controller_{hashlib.sha256(source).hexdigest()[:16]}.py"
    values = {f.name: getattr(controller, f.name) for f in fields(controller)}
    entries = tuple(map(_entry, table.variables))
    content = Content(model=table.model, guid="", source=file, kind=kind, values=values, entries=entries)
    xml = xml_fmi2.model_description(table, about, KINDS, "")
    guid = archive.digest_of(xml, content.packed(), source, SCRIPT)
    resources = {CONTROLLER: replace(content, guid=guid).packed(), file: source}
    files = python_files(about.identifier, guid, resources, SCRIPT)
    return {**files, DESCRIPTION: xml_fmi2.model_description(table, about, KINDS, guid)}


def _source_of(kind: type[Controller]) -> tuple[bytes, str]:
    """The file that defines the class, and its name there."""
    try:
        file = inspect.getsourcefile(kind)
    except TypeError:  # typed into a session
        file = None
    # A script would run as a whole in every slave.
    if file is None or not Path(file).is_file() or "<" in kind.__qualname__ or kind.__module__ == "__main__":
        reason = f"the source of '{kind.__qualname__}' cannot be packed into an FMU"
        raise ModelError(f"controller '{kind.type_name}': {reason}; move the class to the top of a module of its own")
    return Path(file).read_bytes(), kind.__qualname__


def _entry(v: Variable) -> Entry:
    kind = "Integer" if v.type == "Enumeration" else v.type
    role = {"parameter": PARAMETER, "input": INPUT}.get(v.causality, VALUE)
    return Entry(reference=v.reference, name=v.name, type=kind, role=role, tunable=v.variability == "tunable")


# ---------------------------------------------------------------- the table of variables


def table_of(controller: Controller, name: str) -> Table:
    """The variables of the FMU."""
    numbered = enumerate(_rows(controller))
    variables = [Variable(reference=k, role=SIGNAL, index=k, **row) for k, row in numbered]
    references = {v.name: v.reference for v in variables}
    found = _reached(controller)
    return Table(model=name, variables=tuple(_with_dependencies(v, found, references) for v in variables))


def _with_dependencies(v: Variable, reached: Mapping[str, set[str]], references: Mapping[str, int]) -> Variable:
    """Outputs hold the inputs that the law puts into them, and follow from these and from parameters at the start."""
    if v.causality != "output":
        return v
    all_names = sorted(references[name] for name in reached[v.name])
    return replace(v, depends=tuple(references[n] for n in reached[v.name + "<-"]), initially=tuple(all_names))


def _rows(controller: Controller) -> Iterator[dict[str, Any]]:
    yield {"name": "time", "causality": "independent", "unit": "s", "text": "simulation time"}
    for p in controller.parameters.values():
        yield {"name": p.name, "causality": "parameter", "variability": "tunable" if p.tunable else "fixed",
               "unit": p.unit, "text": p.text, "minimum": p.low, "maximum": p.high, "start": p.value}  # fmt: skip
    moving = "discrete" if controller.sampled else "continuous"
    for name, port in controller.inputs.items():
        # What is continuous a master may replace by its mean over a step, and samples would see that.
        yield {"name": name, "causality": "input", "variability": moving, "unit": port.unit, "text": port.text,
               "minimum": port.low, "maximum": port.high, "start": port.start}  # fmt: skip
    for name, port in controller.outputs.items():
        yield {"name": name, "causality": "output", "variability": moving, "unit": port.unit, "text": port.text,
               "minimum": port.low, "maximum": port.high}  # fmt: skip
    for name, state in controller.states.items():
        yield {"name": name, "variability": moving, "unit": state.unit, "text": state.text}
    for name, memory in controller.memory.items():
        yield {"name": name, "variability": "discrete", **_remembered(name, memory)}


def _remembered(name: str, memory: Memory) -> dict[str, Any]:
    about = {"unit": memory.unit, "text": memory.text}
    if not memory.phases:
        return about
    title = "".join(word.capitalize() for word in name.split("_"))
    choices = Enumeration(name=title, items=memory.phases)
    return {**about, "type": "Enumeration", "choices": choices, "minimum": 1, "maximum": len(memory.phases)}


def _reached(controller: Controller) -> dict[str, set[str]]:
    """By output: the parameters and inputs in its law and, as `output<-`, the inputs alone."""
    if controller.delay > 0:  # at first there are start values, later what an earlier sample gave
        return {key: set() for name in controller.outputs for key in (name, f"{name}<-")}
    symbols = {name: Symbol(name) for name in controller.parameters}
    x = {name: Symbol(name) for name in (*controller.states, *controller.memory)}
    u = {name: Symbol(name) for name in controller.inputs}
    law = controller.with_parameters(symbols).law(x, u)
    found: dict[str, set[str]] = {}
    for name in controller.outputs:
        names = set(_NAMES.findall(text_of(law.outputs[name])))
        found[name] = names & {*symbols, *u}
        found[f"{name}<-"] = names & set(u)
    return found
