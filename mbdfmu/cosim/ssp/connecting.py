"""From connections through nested systems to couplings of FMUs; must not know parameters, nor where files are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mbdfmu.cosim.ssp.annotations import own
from mbdfmu.cosim.ssp.markup import Findings
from mbdfmu.cosim.ssp.structure import Edge, Group, Node, edges
from mbdfmu.cosim.ssp.units import Affine, Units
from mbdfmu.errors import ModelError
from mbdfmu.fmi.reading import FmuVariable

FREE = "free inputs"  # the sentence of a note
_KINDS = ("Real", "Float64", "Float32")


class Graph:
    """All connectors of a description and what leads from one to the other."""

    def __init__(self, root: Group, units: Units, findings: Findings) -> None:
        self.units, self._findings = units, findings
        self._groups = {group.path: group for group in root.groups()}
        self.leaves = {leaf.path: leaf for leaf in root.leaves()}
        self._into: dict[Node, Edge] = {}
        self._out: dict[Node, list[Edge]] = {}
        for edge in edges(root):
            if edge.end in self._into:
                before = self._into[edge.end].tag.element.sourceline
                edge.tag.problem(f"leads to '{shown(edge.end)}' like that on line {before}; remove one")
                continue
            self._into[edge.end] = edge
            self._out.setdefault(edge.start, []).append(edge)

    # ---- ends

    def variable(self, node: Node) -> FmuVariable | None:
        """The variable behind a connector of a component; None where it is not there."""
        facts = self.leaves[node[0]].facts if node[0] in self.leaves else None
        return facts.variable(node[1]) if facts is not None and node[1] in facts else None

    def unit(self, node: Node) -> str:
        """The unit of a connector; what an FMU says of itself counts more."""
        variable = self.variable(node)
        if variable is not None and variable.unit:
            return variable.unit
        element = self.leaves.get(node[0]) or self._groups[node[0]]
        connector = element.connectors.get(node[1])
        kinds = connector.children() if connector is not None else ()
        return next((kind.get("unit") for kind in kinds if kind.name in _KINDS), "")

    def check_names(self) -> None:
        """Each connector that a connection names must be there."""
        for edge in (edge for leading in self._out.values() for edge in leading):
            for path, connector in (edge.start, edge.end):
                leaf = self.leaves.get(path)
                if leaf is not None and leaf.facts is not None and connector not in leaf.facts:
                    try:
                        leaf.facts.variable(connector)
                    except ModelError as error:
                        edge.tag.problem(f"of '{leaf.shown}': {error}")

    # ---- ways

    def way_to(self, end: Node) -> list[Edge]:
        """The connections that lead to a connector, in order, from as far away as there are any."""
        way: list[Edge] = []
        node = end
        while node in self._into and self._into[node] not in way:
            way.append(self._into[node])
            node = way[-1].start
            if node in self._into and node[0] in self.leaves:
                break  # an FMU is between
        return way[::-1]

    def ways_from(self, start: Node) -> Iterator[list[Edge]]:
        """All ways from a connector of a system to components."""
        reached = {start}  # only one connection leads to each, so that none is reached twice but in a circle
        waiting: list[list[Edge]] = [[edge] for edge in self._out.get(start, [])]
        while waiting:
            way = waiting.pop(0)
            end = way[-1].end
            if end[0] in self.leaves:
                yield way
            elif end not in reached:
                reached.add(end)
                waiting += [[*way, edge] for edge in self._out.get(end, [])]

    def carried(self, way: Iterable[Edge], unit: str) -> tuple[Affine, bool]:
        """What becomes of a value on its way, and whether nothing but its unit is changed."""
        total, plain = Affine(), True
        for edge in way:
            wanted = self.unit(edge.end)
            if not edge.suppress:
                turned = self.units.between(unit, wanted)
                if turned is None:
                    edge.tag.problem(f"leads from {unit} to {wanted} ('{shown(edge.end)}'), and no unit definition "
                                     f"says how; correct a unit, or set suppressUnitConversion")  # fmt: skip
                total = total.then(turned or Affine())
            total = total.then(Affine(edge.factor, edge.offset))
            plain = plain and not edge.suppress and edge.factor == 1.0
            unit = wanted or ("" if edge.suppress else unit)
        return total, plain

    # ---- couplings

    def couplings(self) -> dict[str, dict[str, Any]]:
        """By target, as a system file has them."""
        found: dict[str, dict[str, Any]] = {}
        for end in [end for end in self._into if end[0] in self.leaves]:
            way = self.way_to(end)
            start = way[0].start
            target = f"{self.leaves[end[0]].name}.{end[1]}"
            if start[0] not in self.leaves:
                self._note_open(start, target, way)
            elif self._fits(way):
                source = f"{self.leaves[start[0]].name}.{start[1]}"
                found[target] = {"from": source, **self._settings(way)}
        return found

    def _note_open(self, start: Node, target: str, way: list[Edge]) -> None:
        if start in self._into:
            way[-1].tag.problem(f"leads to '{target}' from a circle of connections; begin it at an output")
        else:
            self._findings.note(FREE, f"{target} ('{shown(start)}')")

    def _fits(self, way: list[Edge]) -> bool:
        """Whether the way leads from an output to an input."""
        start, end = self.variable(way[0].start), self.variable(way[-1].end)
        if start is None or end is None:
            return False  # a finding already
        if start.causality == "input" and end.causality == "output":
            way[0].tag.problem(f"leads from the input '{shown(way[0].start)}' to an output; exchange the ends")
        elif start.causality != "output":
            way[0].tag.problem(f"begins at '{shown(way[0].start)}', whose causality is {start.causality}; begin it at "
                               "an output")  # fmt: skip
        elif end.causality != "input":
            way[-1].tag.problem(f"leads to '{shown(way[-1].end)}', whose causality is {end.causality}; lead it to an "
                                "input, and set what is a parameter by a value")  # fmt: skip
        return (start.causality, end.causality) == ("output", "input")

    def _settings(self, way: list[Edge]) -> dict[str, Any]:
        """Factor and offset, as far as they are no more than what a coupling does itself."""
        start, end = self.variable(way[0].start), self.variable(way[-1].end)
        total, plain = self.carried(way, self.unit(way[0].start))
        usual = Units().between(start.unit, end.unit) if start and end else None
        settings: dict[str, Any] = {}
        if not plain or usual is None or usual.factor != total.factor:
            settings["factor"] = total.factor
        if total.offset:
            settings["offset"] = total.offset
        for edge in way:
            settings |= own(edge.tag, ("delayed",))
        return settings


def shown(node: Node) -> str:
    """For messages."""
    return ".".join([*node[0], node[1]])
