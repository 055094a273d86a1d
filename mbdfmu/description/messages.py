"""Turns the validator's findings into sentences with a path; must not know which elements exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from mbdfmu.description.values import DOTTED, shown
from mbdfmu.errors import ModelError, did_you_mean

Location = tuple[int | str, ...]
_SAID = "said"  # the type of a finding that is a sentence already
_LISTED = 12  # names shown of a long list


def explained(error: ValidationError, fields: Iterable[str] = ()) -> ValidationError:
    """The same findings with our sentences; `fields` are the keys allowed at this level."""
    known = list(fields)
    lines = [_line(detail, known) for detail in error.errors(include_url=False)]
    return ValidationError.from_exception_data(error.title, lines)


def finding(title: str, location: Location, sentence: str) -> ValidationError:
    """A single finding of our own at `location`."""
    return ValidationError.from_exception_data(title, [_said(sentence, location)])


def findings(title: str, location: Location, sentences: Iterable[str]) -> ValidationError:
    """Several findings of our own at `location`."""
    return ValidationError.from_exception_data(title, [_said(sentence, location) for sentence in sentences])


def problems(error: ValidationError, start: Location = ()) -> list[str]:
    """One `path: sentence` for each finding of an explained error."""
    return [f"{path(start + detail['loc'])}: {detail['msg']}" for detail in error.errors(include_url=False)]


def path(location: Location) -> str:
    """`joints.hinge.i.at[0]`; a key that is no name is quoted, the tags of the validator are left out."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part.startswith("<") and part != "[key]":
            text += "." + (part if re.fullmatch(DOTTED, part) else shown(part))
    return text.lstrip(".")


def listed(names: Iterable[str]) -> str:
    """Names for a message, cut to a readable number."""
    every = list(names)
    more = f", ... ({len(every)} in all)" if len(every) > _LISTED else ""
    return (", ".join(every[:_LISTED]) or "none") + more


def _line(detail: ErrorDetails, known: list[str]) -> InitErrorDetails:
    location = detail["loc"]
    if detail["type"] == "extra_forbidden" and len(location) == 1:
        key = str(location[0])
        return _said(f"unknown entry {shown(key)}{did_you_mean(key, known)}; known: {listed(known)}", ())
    return _said(_sentence(detail), location)


def _sentence(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == _SAID:
        return detail["msg"]
    if kind in ("invalid_key", "string_unicode"):
        return "has a key that is no printable text; rename it"
    if kind == "missing":
        return "is missing and has no default; give it"
    if kind == "value_error":
        return _reason(context)
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"must be an object {{...}}, found {shown(detail['input'])}"
    if kind in ("tuple_type", "list_type"):
        return f"must be a list [...], found {shown(detail['input'])}"
    if kind == "string_type":
        return f"must be a text in quotes, found {shown(detail['input'])}"
    if kind == "literal_error":
        return f"must be {context['expected']}, found {shown(detail['input'])}"
    return f"{detail['msg']}, found {shown(detail['input'])}"  # a rule of an element from outside this package


def _reason(context: Mapping[str, Any]) -> str:
    error = context["error"]
    return "; ".join(error.problems) if isinstance(error, ModelError) else str(error)


def _said(sentence: str, location: Location) -> InitErrorDetails:
    kind = PydanticCustomError(_SAID, "{sentence}", {"sentence": sentence})
    return InitErrorDetails(type=kind, loc=location, input=None)
