"""Exact derivatives of symbolic expressions by everything that moves, as matrices; must not know what they are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mbdfmu.analyses.numbers import Numbers
from mbdfmu.expressions import Node
from mbdfmu.lowering import Lowered

Matrix = NDArray[np.float64]

GROUPS = ("q", "v", "a", "lam", "x", "xd", "y", "u", "ud")  # q: by increments in the tangent space


def sensitivities(
    lowered: Lowered, numbers: Numbers, nodes: Sequence[Node], groups: Sequence[str] = GROUPS
) -> dict[str, Matrix]:
    """One matrix for each group: a row for every node, a column for every symbol (or coordinate) of the group."""
    found = [(row, *entry) for row, node in enumerate(nodes) for entry in _entries(lowered, node, groups)]
    values = numbers.of([node for *_, node in found])
    matrices = {group: np.zeros((len(nodes), _size(lowered, group))) for group in groups}
    for (row, group, column, _), value in zip(found, values, strict=True):
        matrices[group][row, column] += value
    return matrices


def _size(lowered: Lowered, group: str) -> int:
    return len(lowered.coordinates) if group == "q" else len(lowered.places[group])


def _entries(lowered: Lowered, node: Node, groups: Sequence[str]) -> Iterator[tuple[str, int, Node]]:
    """Group, column and derivative; through functions in Python by the chain rule."""
    yield from _own(lowered, node, groups)
    graph = node.graph
    outside = {s.value[1]: s for s in node.support if s.value[0] == "ext"}
    for value, slope, given in _outer(lowered, outside):
        outer = graph.diff(node, outside[value]) * graph.symbol("ext", slope)
        yield from ((group, column, outer * inner) for group, column, inner in _own(lowered, given, groups))


def _outer(lowered: Lowered, wanted: Mapping[str, Node]) -> Iterator[tuple[str, str, Node]]:
    """Values of functions in Python, the names of their derivatives, and the inputs these are by."""
    for function in lowered.model.functions:
        for value in set(function.values) & set(wanted):
            for slope, given in zip(function.slopes(value), function.inputs, strict=True):
                yield value, slope, given


def _own(lowered: Lowered, node: Node, groups: Sequence[str]) -> Iterator[tuple[str, int, Node]]:
    motion = lowered.model.motion
    if "q" in groups:
        for name in motion.of(node):
            yield "q", lowered.coordinates[name], motion.diff(node, name)
    for s in sorted(node.support, key=lambda s: s.index):
        group, name = s.value
        if group in groups and group != "q":
            yield group, lowered.places[group][name], node.graph.diff(node, s)
