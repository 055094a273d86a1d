"""What SSP cannot say, in annotations: ours are JSON in the words of a system file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from mbdfmu.cosim.ssp.markup import OUR_NAMESPACE, OURS, Tag, made, written
from mbdfmu.description.messages import listed
from mbdfmu.description.reading import parse_json
from mbdfmu.errors import ModelError, did_you_mean


def has_own(tag: Tag) -> bool:
    """Whether the element has an annotation of ours."""
    return any(annotation.get("type") == OURS for annotation in tag.children("Annotations", "Annotation"))


def own(tag: Tag, known: Collection[str]) -> dict[str, Any]:
    """Our settings of an element; annotations of others are passed over."""
    found: dict[str, Any] = {}
    for annotation in tag.children("Annotations", "Annotation"):
        if annotation.get("type") == OURS:
            found |= _settings(annotation, known)
    return found


def _settings(annotation: Tag, known: Collection[str]) -> dict[str, Any]:
    texts = [child.text or "" for child in annotation.element.iterchildren(f"{{{OUR_NAMESPACE}}}settings")]
    found: dict[str, Any] = {}
    for text in texts:
        try:
            data, problems = parse_json(text)
        except ModelError as error:
            data, problems = {}, error.problems
        unknown = [key for key in data if key not in known]
        problems += [f"unknown entry {key!r}{did_you_mean(key, known)}; known: {listed(known)}" for key in unknown]
        for problem in problems:
            annotation.problem(f"of type '{OURS}': {problem}")
        found |= {key: value for key, value in data.items() if key in known}
    return found


def annotate(element: Any, settings: Mapping[str, Any]) -> None:
    """Add our settings to an element, if there are any."""
    if not settings:
        return
    annotation = made(made(element, "ssd:Annotations"), "ssc:Annotation", type=OURS)
    child = annotation.makeelement(f"{{{OUR_NAMESPACE}}}settings", nsmap={"mbdfmu": OUR_NAMESPACE})
    child.text = json.dumps(settings, allow_nan=False)
    annotation.append(child)


_OMSIMULATOR = "https://raw.githubusercontent.com/OpenModelica/OMSimulator/master/schema/oms.xsd"
_STEP, _TOLERANCE = 1e-3, 1e-4  # of that program where nothing is said


def annotate_master(system: Any, step: float | None) -> None:
    """Add what OMSimulator wants to know before it runs a system: its own master, with our communication step."""
    place = made(made(system, "ssd:Annotations"), "ssc:Annotation", type="org.openmodelica")
    tolerances = {"absoluteTolerance": _TOLERANCE, "relativeTolerance": _TOLERANCE}
    master = {"description": "oms-ma", "stepSize": step or _STEP, **tolerances}
    for name, attributes in (("Annotations", {}), ("SimulationInformation", {}), ("FixedStepMaster", master)):
        child = place.makeelement(f"{{{_OMSIMULATOR}}}{name}", nsmap={"oms": _OMSIMULATOR})
        for key, value in attributes.items():
            child.set(key, written(value))
        place.append(child)
        place = child
