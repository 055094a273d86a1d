"""The interface of a model's FMU as a block, for tools that import FMUs; must not know equations.

It is the table of the FMU's variables once more, so that both say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mbdfmu.analyses import Settings
from mbdfmu.fmi.archive import identifier as file_name
from mbdfmu.fmi.archive import tool_of
from mbdfmu.fmi.capabilities import NATIVE
from mbdfmu.fmi.types import QUANTITIES, Enumeration
from mbdfmu.fmi.variables import Table, Variable, table_of
from mbdfmu.modelica.icon import icon, port_extent
from mbdfmu.modelica.subject import Subject
from mbdfmu.modelica.words import INDENT, Names, comment, html, identifier, modified, number, quoted, wrapped

_PORTS = ("input", "output")
_CONNECTOR = """\
  connector {name} = {kind} Real "A signal of the FMU"
    annotation(Icon(graphics={{Polygon(points={{{{-100,100}},{{100,0}},{{-100,-100}}}}, lineColor={{0,0,127}},
      fillColor={fill}, fillPattern=FillPattern.Solid)}}));
"""
_FILLS = {"input": "{0,0,127}", "output": "{255,255,255}"}


def written(subject: Subject) -> str:
    """A partial block with the FMU's parameters, inputs and outputs."""
    table = table_of(subject.lowered, Settings(), tool_of(NATIVE), [s.name for s in subject.wanted])
    return "\n".join(_Wrapper(table, subject).lines()) + "\n"


class _Wrapper:
    def __init__(self, table: Table, subject: Subject) -> None:
        self._subject = subject
        begun = subject.begin()
        self._begin = dict(zip(begun.names, map(float, begun.values()), strict=True))
        self._file = f"{file_name(table.model)}.fmu"
        self._title = identifier(f"{table.model}_fmu")
        self._names = Names([self._title, "SignalIn", "SignalOut"], (v.name for v in table.variables))
        self._types = {choice.name: self._names.new(choice.name) for choice in table.enumerations()}
        self._choices = table.enumerations()
        self._known = {v.name: self._names.new(v.name) for v in table.variables if v.causality != "independent"}
        self._variables = [v for v in table.variables if v.name in self._known]

    def lines(self) -> Iterator[str]:
        text = self._subject.model.description.text
        about = f"Interface of {self._file}: {text}" if text else f"Interface of {self._file}"
        yield f"partial block {self._title}{comment(about)}"
        yield _CONNECTOR.format(name="SignalIn", kind="input", fill=_FILLS["input"]).rstrip()
        yield _CONNECTOR.format(name="SignalOut", kind="output", fill=_FILLS["output"]).rstrip()
        yield from (self._enumeration(choice) for choice in self._choices)
        parameters = [v for v in self._variables if v.causality == "parameter"]
        yield from self._section("parameters", (self._parameter(v) for v in parameters))
        for causality in _PORTS:
            ports = [v for v in self._variables if v.causality == causality]
            yield from self._section(f"{causality}s", (self._port(v, k, len(ports)) for k, v in enumerate(ports)))
        yield wrapped(f"annotation({', '.join(self._annotations())});")
        yield f"end {self._title};"

    def _section(self, title: str, statements: Iterable[str]) -> Iterator[str]:
        found = list(statements)
        if found:
            yield f"\n{INDENT}// {title}"
            yield from map(wrapped, found)

    def _enumeration(self, choice: Enumeration) -> str:
        names = Names()
        items = [f"{INDENT * 3}{names.new(item)}{comment(text)}" for item, text in choice.items]
        return f"{INDENT}type {self._types[choice.name]} = enumeration(\n" + ",\n".join(items) + ");"

    def _parameter(self, v: Variable) -> str:
        if v.choices is not None:
            names = Names()
            items = [names.new(item) for item, _ in v.choices.items]
            kind = self._types[v.choices.name]
            return f"parameter {kind} {self._known[v.name]} = {kind}.{items[int(v.starts[0]) - 1]}{comment(v.text)};"
        kind = v.type if v.type in ("Integer", "Boolean", "String") else "Real"
        value = number(self._begin[v.name]) if v.name in self._begin else _value(v)
        return f"parameter {kind} {self._known[v.name]}{_attributes(v)} = {value}{comment(v.text)};"

    def _port(self, v: Variable, k: int, count: int) -> str:
        kind = "SignalIn" if v.causality == "input" else "SignalOut"
        start = _value(v) if v.causality == "input" else None
        return (
            f"{kind} {self._known[v.name]}{_attributes(v, start)}{comment(v.text)} "
            f"annotation(Placement(transformation(extent={port_extent(v.causality, k, count)})));"
        )

    def _annotations(self) -> Iterator[str]:
        yield icon([sum(v.causality == causality for v in self._variables) for causality in _PORTS])
        rows = "".join(
            f"<tr><td>{html(v.name)}</td><td>{self._known[v.name]}</td><td>{v.causality}</td><td>{v.unit}</td>"
            f"<td>{html(v.text)}</td></tr>"
            for v in self._variables
            if v.causality in ("parameter", *_PORTS)
        )
        head = "<tr><th>in the FMU</th><th>here</th><th>causality</th><th>unit</th><th>what it is</th></tr>"
        notes = f"<p>{html(self._subject.model.description.text)}</p><p>{html(self._subject.about)}</p>"
        use = f"<p>Import {html(self._file)} into the tool; this block shows what it will have.</p>"
        yield f"Documentation(info={quoted(f'<html>{notes}{use}<table>{head}{rows}</table></html>')})"


def _attributes(v: Variable, start: str | None = None) -> str:
    low, high = (None if bound is None else number(bound) for bound in (v.minimum, v.maximum))
    if v.type != "Real":
        return modified(min=low, max=high)
    known = QUANTITIES.get(v.unit)
    return modified(
        quantity=quoted(known.name) if known else None, unit=quoted(v.unit) if v.unit else None,
        displayUnit=quoted(known.shown_in) if known and known.shown_in else None, min=low, max=high, start=start,
    )  # fmt: skip


def _value(v: Variable) -> str:
    value = v.starts[0]
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else number(value)
