"""Validates a description entry by entry, so that one bad entry hides no other; must not compare entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from mbdfmu.description.messages import Location, explained, path, problems
from mbdfmu.description.parts import Element
from mbdfmu.description.values import Name, shown
from mbdfmu.errors import did_you_mean


class Section(NamedTuple):
    """A field of the form `dict[key, item]`."""

    key: TypeAdapter[str]
    item: TypeAdapter[Any]
    named: bool  # the keys are names of the model's namespace


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """What could be read: entries by section, valid or not, and what is wrong so far."""

    header: dict[str, Any] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)  # entries of the header that could not be read
    valid: dict[str, dict[str, Any]]
    given: dict[str, dict[str, Any]]  # every entry as it was given, broken ones too
    named: tuple[str, ...]
    lost: set[str] = field(default_factory=set)  # sections of which no entry could be read
    problems: list[str] = field(default_factory=list)

    @property
    def mentions_complete(self) -> bool:
        """Whether each entry, if not valid, at least shows what it refers to."""
        entries = ((section, key, entry) for section, given in self.given.items() for key, entry in given.items())
        return not self.lost and all(isinstance(e, str | dict) or key in self.valid[s] for s, key, e in entries)

    @property
    def dimensions(self) -> int | None:
        """Of the model; None where they could not be read."""
        return None if "dimensions" in self.wrong else self.header.get("dimensions", 2)

    @cached_property
    def inner(self) -> dict[str, dict[str, tuple[str, Any]]]:
        """By section, what sub-models bring along: full name, name of the sub-model and element."""
        found: dict[str, dict[str, tuple[str, Any]]] = {section: {} for section in self.valid}
        for name, submodel in self.valid.get("submodels", {}).items():
            for section, key, element in submodel.content.merged.elements():
                if not getattr(element, "external", False):
                    found[section][f"{name}.{key}"] = name, element
        return found

    @property
    def fields(self) -> dict[str, Any]:
        return {**self.header, **self.valid}


def take_apart(header: type[Element], model: type[Element], data: Mapping[str, Any]) -> Pieces:
    """Validate the fields of `header` as one element and every entry of the sections that `model` adds alone."""
    table = sections(model)
    pieces = Pieces(
        valid={name: {} for name in table},
        given={name: {} for name in table},
        named=tuple(name for name, section in table.items() if section.named),
    )
    _read_header(header, {key: value for key, value in data.items() if key in header.model_fields}, pieces)
    unknown = [key for key in data if key not in model.model_fields]
    for key in unknown:
        hint = did_you_mean(key, model.model_fields)
        pieces.problems.append(f"unknown entry {shown(key)}{hint}; known: {', '.join(model.model_fields)}")
    if unknown:  # "bodys" were meant to be the bodies
        pieces.lost.update(table.keys() - data.keys())
        pieces.wrong.update(header.model_fields.keys() - data.keys())
    for name, section in table.items():
        _read_section(name, section, data.get(name, {}), pieces)
    return pieces


@lru_cache(maxsize=8)
def sections(model: type[Element]) -> dict[str, Section]:
    """The sections of a description class by name."""
    found = {}
    for name, info in model.model_fields.items():
        if get_origin(info.annotation) is dict:
            key, item = get_args(info.annotation)
            found[name] = Section(TypeAdapter(key), TypeAdapter(item), key == Name)
    return found


def _read_header(header: type[Element], data: dict[str, Any], pieces: Pieces) -> None:
    try:
        valid = header.model_validate(data)
    except ValidationError as error:
        pieces.problems.extend(problems(error))
        pieces.wrong.update(str(detail["loc"][0]) for detail in error.errors(include_url=False))
        pieces.header.update(_readable(header, {key: data[key] for key in data.keys() - pieces.wrong}))
    else:
        pieces.header.update({name: getattr(valid, name) for name in valid.model_fields_set})


def _readable(header: type[Element], data: dict[str, Any]) -> dict[str, Any]:
    """Entries of the header one by one, since others are missing or wrong."""
    found = {}
    for name, value in data.items():
        info = header.model_fields[name]
        rule: Any = Annotated[(info.annotation, *info.metadata, None)]
        found[name] = TypeAdapter(rule).validate_python(value)
    return found


def _read_section(name: str, section: Section, data: object, pieces: Pieces) -> None:
    if not isinstance(data, Mapping):
        pieces.problems.append(f"{name}: must be an object {{...}}, found {shown(data)}")
        pieces.lost.add(name)
        return
    for key, entry in data.items():
        known = _read_key(name, section, key, pieces)
        valid = _read_item((name, str(key)), section, entry, pieces)
        if known is not None:
            pieces.given[name][known] = entry
        if known is not None and valid is not None:
            pieces.valid[name][known] = valid


def _read_key(name: str, section: Section, key: object, pieces: Pieces) -> str | None:
    try:
        known = section.key.validate_python(key)
    except ValidationError as error:
        pieces.problems.extend(problems(explained(error), (name, str(key))))
        return None
    if known in pieces.given[name]:  # two spellings of one key of M(q)
        pieces.problems.append(f"{path((name, str(key)))}: the entry {known!r} is given twice; remove one")
    return known


def _read_item(location: Location, section: Section, entry: object, pieces: Pieces) -> Any:
    try:
        return section.item.validate_python(entry)
    except ValidationError as error:
        pieces.problems.extend(problems(explained(error), location))
        return None
