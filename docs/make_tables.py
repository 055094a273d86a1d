"""Rewrite the tables of the docs that follow from the registries; must not know what the pages say around them.

    python docs/make_tables.py            rewrite stale tables
    python docs/make_tables.py --check    name them and end with 1

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. Where code has no text for the last column, "meaning",
it is written by hand and kept; a new row begins with "?", which counts as stale until somebody explains it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

from mbdfmu.blocks import BlockElement
from mbdfmu.controllers import SAMPLING, Controller
from mbdfmu.controllers import members as controllers_by_name
from mbdfmu.counterparts import Library
from mbdfmu.description import (
    Block,
    Body,
    Callback,
    Coordinate,
    Description,
    Force,
    Impact,
    Initial,
    Joint,
    Marker,
    Motion,
    Orientation,
    Shape,
    State,
    Variable,
    schema,
)
from mbdfmu.description.description import Header
from mbdfmu.description.parts import Element, Experiment, Typed
from mbdfmu.description.pieces import sections
from mbdfmu.expressions import FUNCTIONS, MARKER_FUNCTIONS
from mbdfmu.facade import Model
from mbdfmu.forces import ForceElement
from mbdfmu.forces.magic_formula import MagicFormula
from mbdfmu.joints import JointElement, Relation
from mbdfmu.schemes import Scheme

DOCS = Path(__file__).resolve().parent
TABLE = re.compile(r"(?P<begin><!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<end><!-- end -->)", re.DOTALL)
BY_HAND, OPEN = "", "?"  # the last cell of a row: to be kept, not yet written
COMMON: dict[Any, tuple[str, ...]] = {  # fields that all members of a family have
    Joint: ("i", "j", "text", "start", "active"),
    Force: ("i", "j", "text"),
    Block: ("text", "unit", "nominal"),
    Shape: ("text", "mass", "density", "color", "at", "orientation"),
}
KIND = {2: "", 3: " in space"}
Row = tuple[str, ...]


# ---------------------------------------------------------------- fields of the model file


def fields_of(element: type[Element], skipped: Sequence[str] = ()) -> Iterator[Row]:
    """Field, kind, unit and default of everything a file may say about an element."""
    rules, units = _rules(element), element.units()
    for name, info in element.model_fields.items():
        if name not in skipped:
            default = "required" if info.is_required() else _shown(info.get_default(call_default_factory=True))
            kind = "unit" if name in ("unit", "x_unit", "y_unit") else _kind(rules[info.alias or name])
            yield f"`{info.alias or name}`", kind, units.get(name, ""), default, BY_HAND


def _rules(element: type[Element]) -> Mapping[str, Any]:
    """The JSON schema of each field."""
    document = _schema()
    rule = document if element is Header else document["$defs"][_defined_as(element)]
    while "properties" not in rule:  # an element that may be given by its value alone
        rule = rule["anyOf"][-1]
    properties: Mapping[str, Any] = rule["properties"]
    return properties


def _defined_as(element: type[Element]) -> str:
    """The schema tells classes of one name apart by their modules."""
    whole = f"{element.__module__}.{element.__qualname__}".replace(".", "__")
    return whole if whole in _schema()["$defs"] else element.__name__


@cache
def _schema() -> dict[str, Any]:
    return schema()


_KINDS = {
    ("number", "text"): "value",
    ("number > 0", "text"): "value > 0",
    ("number >= 0", "text"): "value >= 0",
    ("number from 0 to 1", "text"): "value from 0 to 1",
}


def _kind(rule: Mapping[str, Any]) -> str:
    if "anyOf" in rule or "oneOf" in rule:
        kinds = tuple(_kind(r) for r in rule.get("anyOf", rule.get("oneOf", ())) if r.get("type") != "null")
        return _KINDS.get(kinds, " or ".join(dict.fromkeys(kinds)))
    if "$ref" in rule:
        return str(rule["$ref"]).rpartition("/")[2].rpartition("__")[2].lower().replace("#", "model")
    if "enum" in rule or "const" in rule:
        return " or ".join(f"`{choice}`" for choice in rule.get("enum", [rule.get("const")]))
    return _PLAIN[rule["type"]](rule)


_BOUNDS = {"maximum": " from 0 to 1", "exclusiveMinimum": " > 0", "minimum": " >= 0"}
_PLAIN = {
    "number": lambda rule: "number" + next((text for key, text in _BOUNDS.items() if key in rule), ""),
    "integer": lambda rule: "whole number > 0",
    "string": lambda rule: "name" if "A-Za-z" in rule.get("pattern", "") else "text",
    "boolean": lambda rule: "`true` or `false`",
    "array": lambda rule: _array(rule),
    "object": lambda rule: "{...}",
}


def _array(rule: Mapping[str, Any]) -> str:
    if "$ref" in rule["items"]:
        return f"list of {_kind(rule['items'])}s"
    if rule["items"].get("type") == "array":
        return "list of rows"
    if "minItems" not in rule:
        return f"list of {_kind(rule['items'])}s"
    least, most = rule["minItems"], rule.get("maxItems")
    if most is None:
        return f"{'list of' if least == 1 else f'{least} or more'} {_kind(rule['items'])}s"
    if (least, most) == (2, 3):
        return "point"
    return f"{least} values" if least == most else f"{least} or {most} values"


def _shown(default: object) -> str:
    if default is None or default in ("", (), {}):
        return "none"
    if isinstance(default, tuple):
        return f"[{', '.join(map(_shown, default))}]"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else f"`{default}`"


# ---------------------------------------------------------------- families


def joints() -> Iterator[Row]:
    for name, joint in JointElement.members().items():
        cells = [_held(joint, dimensions) if dimensions in _kinds(joint) else "" for dimensions in (2, 3)]
        if issubclass(joint, Relation):
            cells[1] = cells[0]  # the same in space
        yield f"`{name}`", _text(joint.summary()), *cells


def _held(joint: type[JointElement], dimensions: int) -> str:
    free = joint.freedoms.of(dimensions)
    rows = sum(len(p.rows) for c in _around("joints", joint, dimensions).symbolic.constraints for p in c.primitives)
    return f"{rows}" if free is None else f"{rows} / {free}"


def joint_family() -> Iterator[Row]:
    """What each joint is given, and the names of its rows in messages."""
    for name, joint in JointElement.members().items():
        given = [_given(*row[:4]) for row in fields_of(joint, COMMON[Joint])]
        rows = [_rows(joint, dimensions) if dimensions in _kinds(joint) else "" for dimensions in (2, 3)]
        if issubclass(joint, Relation):
            rows[1] = rows[0]  # the same in space
        yield f"`{name}`", ", ".join(given), *rows, _counterpart(joint)


def _counterpart(element: type[JointElement | ForceElement]) -> str:
    """What does the same in Modelica."""
    closing = getattr(element, "closing", None)
    where = "in planar loops" if isinstance(closing, Library) else "closing a loop"
    loops = f"; {where} {closing.shown}" if closing else ""
    return element.modelica.shown + loops if element.modelica else "none: style `equations` has it"


def _given(field: str, kind: str, unit: str, default: str) -> str:
    return f"{field} ({', '.join(word for word in (unit, default) if word)})"


def _rows(joint: type[JointElement], dimensions: int) -> str:
    constraints = _around("joints", joint, dimensions).symbolic.constraints
    return ", ".join(row.direction for c in constraints for p in c.primitives for row in p.rows)


def joint_coordinates() -> Iterator[Row]:
    """The free coordinates of each joint."""
    for name, joint in JointElement.members().items():
        for dimensions in _kinds(joint):
            found = {s.name: s for s in _sample("joints", joint, dimensions)}
            for signal in (s for n, s in found.items() if f"{n}_rate" in found):
                key = signal.name.removeprefix("JOINT.")
                yield f"`{name}`", "plane" if dimensions == 2 else "space", f"`{key}`", signal.unit, signal.text


def _kinds(member: Any) -> list[int]:
    """Dimensions of the models that an element can be a part of."""
    if issubclass(member, Relation):
        return [2]
    if issubclass(member, Joint):
        return [d for d in (2, 3) if member.freedoms.of(d) is not None]
    if issubclass(member, ForceElement):
        return list(member.dimensions)
    return [2] if member in (Coordinate, Motion, Impact) else [2, 3]


def forces() -> Iterator[Row]:
    for name, force in Force.members().items():
        yield f"`{name}`", _text(force.summary())


def block_family() -> Iterator[Row]:
    for name, block in BlockElement.members().items():
        yield f"`{name}`", _text(block.summary()), block.modelica.removeprefix("Modelica.Blocks.")


def controllers() -> Iterator[Row]:
    for name, kind in controllers_by_name().items():
        one = kind()
        ports = (", ".join(map(_port, side.items())) for side in (one.inputs, one.outputs))
        yield f"`{name}`", _text(kind.summary()), *ports


def _port(item: tuple[str, Any]) -> str:
    name, port = item
    return f"`{name}` ({port.unit})" if port.unit else f"`{name}`"


def controller_parameters() -> Iterator[Row]:
    for name, kind in controllers_by_name().items():
        for f in fields(kind):
            if f.name not in SAMPLING or f.default != Controller.__dataclass_fields__[f.name].default:
                kinds = {"tunable": "tunable", "fixed": "fixed until it runs", "structural": "chosen when it is made"}
                about = f.metadata
                where = (f"`{name}`", f"`{f.name}`", about["unit"], _shown(f.default))
                yield *where, kinds[about["kind"]], _text(about["text"])


def sampling() -> Iterator[Row]:
    """What every controller has."""
    for f in fields(Controller):
        yield f"`{f.name}`", f.metadata["unit"], _shown(f.default), _text(f.metadata["text"])


def force_family() -> Iterator[Row]:
    """What each force is, where it exists, and what does the same in Modelica."""
    for name, force in ForceElement.members().items():
        where = ", ".join({2: "plane", 3: "space"}[d] for d in force.dimensions)
        yield f"`{name}`", _text(force.summary()), where, _counterpart(force)


def family_fields(family: type[Typed]) -> Iterator[Row]:
    """Type and field of what members have of their own."""
    for name, member in family.members().items():
        for row in fields_of(member, COMMON[family]):
            yield f"`{name}`", *row


def functions() -> Iterator[Row]:
    for f in FUNCTIONS.values():
        yield f"`{f.call}`", _text(f.text)


def marker_functions() -> Iterator[Row]:
    for f in MARKER_FUNCTIONS.values():
        yield f"`{f.call}`", f.unit, "yes" if f.planar else "", _text(f.text)


def options() -> Iterator[Row]:
    for name, scheme in Scheme.members().items():
        for f in fields(scheme):
            low, high, choices = (f.metadata[key] for key in ("low", "high", "choices"))
            allowed = ", ".join(f"`{choice}`" for choice in choices) or f"{low:.4g} to {high:g}"
            yield f"`{name}`", f"`{f.name}`", _shown(f.default), allowed, _text(f.metadata["text"])


# ---------------------------------------------------------------- signals


def signals() -> Iterator[Row]:
    """Every signal of a sample of each element, found by asking for the table of a model that holds it."""
    whole = Model.from_description(Description(**{**_free_body(2).to_data(), "energy_balance": True}))
    yield from _signal_rows("any model", [s for name in ALWAYS for s in whole.signals(name)])
    for label, section, element in _samples():
        for dimensions in _kinds(element) if isinstance(element, type) else [2]:
            found = _sample(section, element, dimensions)
            if dimensions == 3 and section == "joints":
                found = [s for s in found if not REACTION.fullmatch(s.name)]
            yield from _signal_rows(f"{label}{KIND[dimensions]}", found)
    fixed = _sample("joints", Joint.named("fixed"), 3)
    yield from _signal_rows("any joint in space", [s for s in fixed if REACTION.fullmatch(s.name)])


ALWAYS = ("time", "energy.*", "power.*")
REACTION = re.compile(r"JOINT\.(force|torque)\.[xyz]")


def _samples() -> Iterator[tuple[str, str, Any]]:
    yield "body", "bodies", Body
    yield "marker", "markers", Marker
    for section, family in (("joints", Joint), ("forces", Force)):
        for name, member in family.members().items():
            yield f"{family.family} `{name}`", section, member
    yield "coordinate in rad", "coordinates", Coordinate
    yield "motion of an angle", "motions", Motion
    yield "constraint in m", "constraints", "BODY.x - 1"
    yield "impact", "impacts", Impact


def _sample(section: str, element: Any, dimensions: int) -> list[Any]:
    """The signals of one element, called by its kind in capitals."""
    name = {"bodies": "BODY"}.get(section, section[:-1].upper())
    model = _around(section, element, dimensions)
    return [s for s in model.signals("*") if re.search(rf"\b{name}\b", s.name)]


def _around(section: str, element: Any, dimensions: int) -> Model:
    """A model that holds a sample of an element."""
    name = section[:-1].upper()
    model = Model.from_description(_free_body(dimensions))
    if isinstance(element, str):
        model = Model.from_description(Description(**{**_free_body(dimensions).to_data(), section: {name: element}}))
    elif element is not Body:
        if "joint" in element.model_fields:
            model.add("JOINT", _made(Joint.named("revolute")))
        model.add(name, _made(element, dimensions))
    if element is Coordinate:
        model.add_mass(name, 1)
    return model


def _free_body(dimensions: int) -> Description:
    spatial = dimensions == 3
    body = {"mass": 1, "inertia": 1, "position": [1, 0], "free": True}
    if spatial:  # its centre of mass has signals of its own
        body |= {"inertia": [1, 1, 1], "position": [1, 0, 0], "center": [0, 0, 1]}
    return Description(format_version=1, name="sample", dimensions=dimensions, bodies={"BODY": body})


# Required fields that are no numbers.
FILLED = {"first": "BODY.phi", "second": "BODY.x", "terms": {"BODY.x": 1}, "gap": "BODY.y"}


# What elements with a field of that name are given.
_ANYWHERE: dict[str, dict[str, Any]] = {"joint": {"joint": "JOINT", "radius": 1.0}, "upper": {"upper": 1.0}}
SAMPLES = {
    2: _ANYWHERE | {"size": {"size": [1.0, 1.0]}},
    3: _ANYWHERE
    | {"size": {"size": [1.0, 1.0, 1.0]}, "second_moment": {"second_moment": [1.0, 1.0, 1.0], "shear_modulus": 1.0}},
}


def _made(element: Any, dimensions: int = 2) -> Element:
    """A sample: required fields are 1."""
    given: dict[str, Any] = {}
    if issubclass(element, Joint | Force) and not issubclass(element, Relation):
        ends = {"i": {"body": "ground"}, "j": {"body": "BODY"}}
        given = {end: marker for end, marker in ends.items() if end in element.model_fields}
        for key, fields in SAMPLES[dimensions].items():
            given |= fields if key in element.model_fields else {}
    elif element is Marker:
        given = {"body": "BODY"}
    elif element in (State, Variable):
        given = {"rate" if element is State else "value": "time"}
    elif element is Callback:
        given = {"python": abs, "inputs": ("time",)}
    elif element is Motion:
        given = {"of": "BODY.phi", "value": "time"}
    missing = (name for name, info in element.model_fields.items() if info.is_required() and name not in given)
    made: Element = element(**given, **{name: FILLED.get(name, 1.0) for name in missing})
    return made


def _signal_rows(label: str, found: Iterable[Any]) -> Iterator[Row]:
    for s in found:
        causality = "" if s.causality == "local" else s.causality
        yield label, f"`{s.name}`", s.unit or "1", causality, _text(s.text) or BY_HAND


# ---------------------------------------------------------------- tables

FIELDS = ("field", "value", "unit", "default", "meaning")
PARTS = {  # sections whose entries are of one kind
    name: get_args(Description.model_fields[name].annotation)[1]
    for name, section in sections(Description).items()
    if section.named and name not in ("joints", "forces", "blocks")
}
TABLES: dict[str, tuple[Sequence[str], Any]] = {
    "header": (FIELDS, partial(fields_of, Header)),
    "experiment": (FIELDS, partial(fields_of, Experiment)),
    **{name: (FIELDS, partial(fields_of, part)) for name, part in PARTS.items()},
    "orientation": (FIELDS, partial(fields_of, Orientation)),
    "initial": (FIELDS, partial(fields_of, Initial)),
    "shape-fields": (("type", *FIELDS), partial(family_fields, Shape)),
    "joints": (("type", "what it is", "in the plane", "in space"), joints),
    "joint-family": (("type", "fields", "rows in the plane", "rows in space", "Modelica"), joint_family),
    "joint-coordinates": (("type", "in", "coordinate", "unit", "what it is"), joint_coordinates),
    "joint-fields": (("type", *FIELDS), partial(family_fields, Joint)),
    "forces": (("type", "what it is"), forces),
    "force-family": (("type", "what it is", "in", "Modelica"), force_family),
    "force-fields": (("type", *FIELDS), partial(family_fields, Force)),
    "blocks": (("type", "what it is", "Modelica"), block_family),
    "block-fields": (("type", *FIELDS), partial(family_fields, Block)),
    "controllers": (("name", "what it is", "inputs", "outputs"), controllers),
    "controller-parameters": (("controller", "field", "unit", "default", "kind", "meaning"), controller_parameters),
    "controller-sampling": (("field", "unit", "default", "meaning"), sampling),
    "functions": (("call", "value"), functions),
    "marker-functions": (("call", "unit", "in the plane too", "value"), marker_functions),
    "options": (("scheme", "option", "default", "allowed", "meaning"), options),
    "tyre-coefficients": (FIELDS, partial(fields_of, MagicFormula)),
    "signals": (("element", "signal", "unit", "causality", "meaning"), signals),
}


def table(name: str, before: str) -> str:
    """The lines of a table; `before` is what stands in the page now."""
    if name not in TABLES:
        raise SystemExit(f"no table is called '{name}'; known: {', '.join(TABLES)}")
    columns, rows = TABLES[name]
    kept = {_subject(columns, cells): cells[-1] for cells in _cells(before)}
    lines = [columns, ["---"] * len(columns)]
    lines += [(*row[:-1], row[-1] or kept.get(_subject(columns, row)) or OPEN) for row in rows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _subject(columns: Sequence[str], cells: Sequence[str]) -> Row:
    """What a row is about: the cells up to its field or signal. A changed unit or default keeps the meaning."""
    last = next((k for k, column in enumerate(columns) if column in ("field", "signal")), 0)
    return tuple(cells[: last + 1])


def _cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in text.splitlines()[2:]]


def _text(text: str) -> str:
    return text.replace("|", r"\|")


def rewritten(page: str) -> tuple[str, list[str]]:
    """The page with its tables as they should be, and the names of those that are not or have open cells."""
    stale: list[str] = []

    def replace(found: re.Match[str]) -> str:
        body = table(found["name"], found["body"])
        if body != found["body"] or f"| {OPEN} |" in body:
            stale.append(found["name"])
        return found["begin"] + body + found["end"]

    return TABLE.sub(replace, page), stale


def main(arguments: Sequence[str]) -> int:
    check = "--check" in arguments
    found = False
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        new, stale = rewritten(text)
        if not check and new != text:
            page.write_text(new, encoding="utf-8", newline="\n")
        for name in stale:
            print(f"{page.relative_to(DOCS)}: table '{name}' {'is' if check else 'was'} stale or has an open cell")
        found = found or bool(stale)
    return int(check and found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
