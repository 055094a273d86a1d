"""From couplings to places in two arrays, and in which order values pass; must not load or step any FMU.

`Y` holds what is read of the FMUs, `U` what is set in them. At a communication point values pass in rounds: outputs
that depend on no input that is still to be set, then the inputs that others depend on, and so on; what no output asks
for is set last. So every value is that of the present time, without a step of delay, as far as there is no loop.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mbdfmu.cosim.description import Coupling, SystemDescription, split
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.fmi.reading import FmuInfo, FmuVariable
from mbdfmu.units import unit

READ: Literal["read"] = "read"
WRITE: Literal["write"] = "write"
ENERGY, RESIDUAL = "energy", "residual_energy"  # what a bond gives, beside variables of FMUs
_WHOLE = "whole numbers"
_KINDS = {"Boolean": "Boolean", "String": "String", "Binary": "Binary", "Clock": "Clock", "Enumeration": "Enumeration"}
_COUPLED = ("number", _WHOLE, "Boolean", "Enumeration")
_PASSING = {(_WHOLE, "number"), ("Enumeration", _WHOLE)}

Place = tuple[str, str]  # FMU and variable


@dataclass(frozen=True, kw_only=True)
class Link:
    """One coupling: the input is factor * source + offset. What has no source is given from outside."""

    target: Place
    source: Place | None
    factor: float = 1.0
    offset: float = 0.0
    moving: bool = True  # both ends change continuously
    delayed: bool = False
    nominal: float = 1.0  # of the input

    @property
    def continuous(self) -> bool:
        """Between communication points it may be followed by a polynomial."""
        return self.moving and not self.delayed


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Values that are read of, or written to, one FMU at once."""

    kind: Literal["read", "write"]
    fmu: str
    variables: tuple[FmuVariable, ...]
    first: int  # of the first one in Y or U


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """What passes, in order; `links` stand in the order of U."""

    fmus: Mapping[str, FmuInfo]
    passes: tuple[Pass, ...]
    sources: tuple[Place, ...]  # in the order of Y: what is coupled and what is recorded, FMU by FMU
    links: tuple[Link, ...]  # in the order of U, FMU by FMU
    torn: tuple[int, ...]  # places in U that belong to loops, which are solved by iteration
    delays: int  # most delayed couplings that a value has to pass one after the other
    notes: tuple[str, ...]
    sampled: Mapping[str, Sequence[str]]  # FMUs with coupled variables that change at points in time only, and these


def wired(
    description: SystemDescription, fmus: Mapping[str, FmuInfo], recorded: Sequence[Place], given: Sequence[Place] = ()
) -> Wiring:
    """The wiring of a system whose inputs `given` come from outside; a ModelError lists what cannot be coupled."""
    problems: list[str] = []
    links = []
    for target, coupling in description.couplings.items():
        try:
            links.append(_link(target, coupling, fmus))
        except ModelError as error:
            problems += [f"couplings.{target}: {problem}" for problem in error.problems]
    problems += _bond_problems(description, fmus)
    if problems:
        raise ModelError(problems)
    links += [_outside(fmus, place) for place in given]
    return _ordered(description, fmus, links, recorded)


# ---------------------------------------------------------------- single couplings


def _link(target: str, coupling: Coupling, fmus: Mapping[str, FmuInfo]) -> Link:
    to, of = split(target), split(coupling.source)
    end, source = _ends(fmus, to, of)
    problems = []
    if end.causality != "input":
        problems.append(f"is {_article(end.causality)}; only inputs can be coupled")
    if source.causality != "output":
        problems.append(f"{coupling.source} is {_article(source.causality)}; values can be taken from outputs only")
    if problems:
        raise ModelError(problems)
    _check_kinds(source, coupling.source, end)
    factor = _factor(source.unit, end.unit, coupling)
    return Link(target=to, source=of, factor=factor, offset=coupling.offset, delayed=coupling.delayed,
                moving=_moves(source) and _moves(end), nominal=end.nominal)  # fmt: skip


def _moves(v: FmuVariable) -> bool:
    return v.is_real and v.variability == "continuous"


def _outside(fmus: Mapping[str, FmuInfo], place: Place) -> Link:
    v = fmus[place[0]].variable(place[1])
    return Link(target=place, source=None, moving=_moves(v), nominal=v.nominal)


def _ends(fmus: Mapping[str, FmuInfo], *places: Place) -> list[FmuVariable]:
    """The variables; a ModelError names all that are not there."""
    found, problems = [], []
    for place in places:
        try:
            found.append(_variable(fmus, place))
        except ModelError as error:
            problems += error.problems
    if problems:
        raise ModelError(problems)
    return found


def _variable(fmus: Mapping[str, FmuInfo], place: Place) -> FmuVariable:
    fmu = fmus[place[0]]
    try:
        return fmu.variable(place[1])
    except ModelError:
        wanted = [v.name for v in fmu.variables if v.causality in ("input", "output")]
        known = did_you_mean(place[1], [v.name for v in fmu.variables]) or f"; known: {_some(wanted)}"
        raise ModelError(f"FMU '{place[0]}' has no variable {place[1]!r}{known}") from None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")


def _article(causality: str) -> str:
    return f"an {causality}" if causality[:1] in "aeiou" else f"a {causality}"


def _kind(v: FmuVariable) -> str:
    return "number" if v.is_real else _KINDS.get(v.type, _WHOLE)


def _check_kinds(source: FmuVariable, name: str, end: FmuVariable) -> None:
    """Whole numbers pass as numbers, items of an enumeration as whole numbers, everything else as what it is."""
    found, wanted = _kind(source), _kind(end)
    if found not in _COUPLED or (found != wanted and (found, wanted) not in _PASSING):
        raise ModelError(f"is {end.type}, {name} is {source.type}; couple variables of one type")


def _factor(found: str, wanted: str, coupling: Coupling) -> float:
    """What turns the source's unit into the target's; a variable without a unit takes what it is given."""
    if coupling.factor is not None or not (found and wanted) or found == wanted:
        return 1.0 if coupling.factor is None else coupling.factor
    known = [_unit(found), _unit(wanted)]
    if None in known or known[0].exponents != known[1].exponents:
        cure = 'couple what fits, or say how with {"from": .., "factor": ..}'
        raise ModelError(f"is in {wanted}, {coupling.source} is in {found}; {cure}")
    factor: float = known[0].factor / known[1].factor
    return factor


def _unit(text: str) -> Any:
    """None where another tool has written what is none of ours."""
    try:
        return unit(text)
    except ModelError:
        return None


def watts(effort: str, flow: str) -> float | None:
    """How many W the product of both units is; None if it is no power. What has no unit is taken to be in SI units."""
    known = [_unit(text) for text in (effort, flow) if text]
    if None in known:
        return None
    exponents = [sum(column) for column in zip(*(one.exponents[:-1] for one in known), strict=True)]  # rad is a number
    if len(known) == 2 and tuple(exponents) != unit("W").exponents[:-1]:
        return None
    factor: float = math.prod(one.factor for one in known)
    return factor


def _bond_problems(description: SystemDescription, fmus: Mapping[str, FmuInfo]) -> Iterator[str]:
    for name, bond in description.bonds.items():
        effort, flow = split(bond.effort), split(bond.flow)
        if bond.effort not in description.couplings:
            yield f"bonds.{name}.effort: {bond.effort} is coupled to nothing; name an input that is"
        if effort[0] != flow[0]:
            yield f"bonds.{name}: effort and flow must be of one FMU, found {effort[0]} and {flow[0]}"
        elif flow[1] not in fmus[flow[0]] or fmus[flow[0]].variable(flow[1]).causality != "output":
            yield f"bonds.{name}.flow: FMU '{flow[0]}' has no output {flow[1]!r}"
        elif effort[1] in fmus[effort[0]]:
            ends = [fmus[fmu].variable(variable).unit for fmu, variable in (effort, flow)]
            if watts(*ends) is None:
                yield (
                    f"bonds.{name}: effort [{ends[0]}] times flow [{ends[1]}] is no power; "
                    "name variables whose product is one, such as force [N] and speed [m/s]"
                )
        for column in (ENERGY, RESIDUAL):
            if name in fmus and column in fmus[name]:
                yield f"bonds.{name}: FMU '{name}' has a variable {column!r} too; call the bond otherwise"


# ---------------------------------------------------------------- order


class _Order:
    """Collects the passes of a communication point."""

    def __init__(self, fmus: Mapping[str, FmuInfo], links: Sequence[Link]) -> None:
        self.fmus = fmus
        self.link = {link.target: link for link in links}
        self.inputs = {fmu: [t for t in self.link if t[0] == fmu] for fmu in fmus}
        self.missing = dict.fromkeys(link.source for link in links if link.source)  # outputs still to be read
        # Inputs whose value is not known yet, and those that are not written yet.
        self.open = {link.target for link in links if link.source and not link.delayed}
        self.unwritten = dict.fromkeys(self.link)
        self.passes: list[tuple[Literal["read", "write"], str, list[Place]]] = []
        self.loops: list[list[Place]] = []  # inputs; the first of each is the one that is torn
        self._needs: dict[Place, frozenset[Place]] = {}

    def needs(self, place: Place) -> frozenset[Place]:
        """The coupled inputs that a value depends on at once."""
        if place not in self._needs:
            said = self._said(place)
            self._needs[place] = frozenset(t for t in self.inputs[place[0]] if said is None or t[1] in said)
        return self._needs[place]

    def _said(self, place: Place) -> frozenset[str] | None:
        """What a value depends on by the FMU's description; None: on any input, which counts for locals too."""
        fmu, name = self.fmus[place[0]], place[1]
        causality = fmu.variable(name).causality
        if causality == "input":
            return frozenset({name})
        return None if causality == "local" else fmu.dependencies.get(name, frozenset())

    def causes(self, target: Place) -> frozenset[Place]:
        """The inputs that an input depends on over its source."""
        source = self.link[target].source
        return self.needs(source) & self.open if source else frozenset()

    def delays(self) -> int:
        """Most delayed couplings that a value passes one after the other, through FMUs at once; loops are left out."""
        source = {target: link.source for target, link in self.link.items() if link.source}
        found: dict[Place, int] = {}
        while ready := [t for t in source.keys() - found if not (self.needs(source[t]) & source.keys()) - found.keys()]:
            for t in ready:
                found[t] = self.link[t].delayed + max((found.get(i, 0) for i in self.needs(source[t])), default=0)
        return max(found.values(), default=0)

    def read(self, outputs: Iterable[Place]) -> None:
        found = list(outputs)
        self.passes += [(READ, fmu, places) for fmu, places in _by_fmu(self.fmus, found)]
        for place in found:
            self.missing.pop(place, None)
        known = set(found)
        self.open -= {target for target in self.open if self.link[target].source in known}

    def write(self, inputs: Iterable[Place]) -> None:
        found = list(inputs)
        self.passes += [(WRITE, fmu, places) for fmu, places in _by_fmu(self.fmus, found)]
        for place in found:
            self.unwritten.pop(place)

    def run(self, recorded: Sequence[Place]) -> None:
        """All passes: rounds of reading and writing, then what nobody waits for."""
        waiting = dict.fromkeys([*self.missing, *recorded])
        while self.missing:
            asked = {i for o in self.missing for i in self.needs(o)}
            self.write([i for i in self.unwritten if i in asked and i not in self.open])
            found = [place for place in waiting if not self.needs(place) & self.unwritten.keys()]
            if not self.missing.keys() & set(found):
                found = []
                self._tear()
            self.read(found)
            for place in found:
                del waiting[place]
        self.write(list(self.unwritten))
        self.read(waiting)

    def _tear(self) -> None:
        """A loop: the input that most outputs wait for begins with its former value."""
        waits = Counter(i for o in self.missing for i in self.needs(o))
        in_order = sorted((target for target in self.link if target in self.open), key=lambda i: -waits[i])
        loop = next(found for i in in_order if (found := self._loop(i)))
        self.loops.append(loop)
        self.open.discard(loop[0])
        self.write(loop[:1])

    def _loop(self, start: Place) -> list[Place]:
        """From an input over what it depends on back to it: inputs; empty where there is no way."""
        came_from: dict[Place, Place] = {}
        waiting = [start]
        while waiting:
            place = waiting.pop()
            for cause in sorted(self.causes(place)):
                if cause == start:
                    return self._way(came_from, start, place)
                if cause not in came_from:
                    came_from[cause] = place
                    waiting.append(cause)
        return []

    def _way(self, came_from: Mapping[Place, Place], start: Place, end: Place) -> list[Place]:
        way = [end]
        while way[-1] != start:
            way.append(came_from[way[-1]])
        return way[::-1]


def _ordered(
    description: SystemDescription, fmus: Mapping[str, FmuInfo], links: Sequence[Link], recorded: Sequence[Place]
) -> Wiring:
    order = _Order(fmus, links)
    order.run([*recorded, *(split(bond.flow) for bond in description.bonds.values())])
    if order.loops and description.master.iterations == 1:
        raise ModelError(_loop_message(order, loop) for loop in order.loops)
    sources, targets = (_grouped(fmus, order.passes, kind) for kind in (READ, WRITE))
    at = {READ: {place: k for k, place in enumerate(sources)}, WRITE: {place: k for k, place in enumerate(targets)}}
    passes = tuple(
        Pass(kind=kind, fmu=fmu, variables=tuple(fmus[fmu].variable(name) for _, name in places),
             first=at[kind][places[0]])
        for kind, fmu, places in order.passes
    )  # fmt: skip
    return Wiring(
        fmus=fmus, passes=passes, sources=sources, links=tuple(order.link[target] for target in targets),
        torn=tuple(at[WRITE][loop[0]] for loop in order.loops), delays=order.delays(),
        notes=tuple(_notes(order.link.values(), fmus)),
        sampled=_sampled(order.link.values(), fmus),
    )  # fmt: skip


def _sampled(links: Iterable[Link], fmus: Mapping[str, FmuInfo]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for link in links:
        for fmu, name in (link.source, link.target) if link.source else ():
            if not _moves(fmus[fmu].variable(name)):
                found.setdefault(fmu, []).append(name)
    return found


def _grouped(
    fmus: Iterable[str], passes: Iterable[tuple[str, str, list[Place]]], kind: str
) -> tuple[Place, ...]:
    """What is read or written, the places of an FMU side by side, and of these those of a pass."""
    of_kind = [(fmu, places) for this, fmu, places in passes if this == kind]
    return tuple(place for wanted in fmus for fmu, places in of_kind if fmu == wanted for place in places)


def _loop_message(order: _Order, loop: Sequence[Place]) -> str:
    sources = [source for target in loop if (source := order.link[target].source)]
    names = [".".join(place) for pair in zip(loop, sources, strict=True) for place in pair]
    unsaid = sorted({fmu for fmu, name in sources if order.fmus[fmu].dependencies.get(name, ()) is None})
    reason = f" (FMU {', '.join(unsaid)} does not say what its outputs depend on)" if unsaid else ""
    cure = (
        'let the master solve it: "iterations": 20; or, where the gain around the loop is below 1, give one of these '
        'couplings "delayed": true'
    )
    return f"couplings: an algebraic loop, {' <- '.join([*names, names[0]])}{reason}; {cure}"


def _notes(links: Iterable[Link], fmus: Mapping[str, FmuInfo]) -> Iterator[str]:
    for link in links:
        if link.source is None:
            continue
        source, end = (fmus[fmu].variable(name) for fmu, name in (link.source, link.target))
        if _kind(source) == "Enumeration" and _kind(end) == _WHOLE:
            yield f"{'.'.join(link.target)} ({end.type}) is the number of the item that {'.'.join(link.source)} names"
        found, wanted = source.unit, end.unit
        if found and wanted and found != wanted and link.factor != 1.0:
            yield f"{'.'.join(link.target)} [{wanted}] is {link.factor:g} times {'.'.join(link.source)} [{found}]"


def _by_fmu(fmus: Mapping[str, FmuInfo], places: Iterable[Place]) -> Iterator[tuple[str, list[Place]]]:
    """The places of each FMU, those of one type beside each other."""
    given = list(places)
    for fmu in fmus:
        of_fmu = [p for p in given if p[0] == fmu]
        if of_fmu:
            types = list(dict.fromkeys(fmus[fmu].variable(name).type for _, name in of_fmu))
            yield fmu, sorted(of_fmu, key=lambda p: types.index(fmus[p[0]].variable(p[1]).type))
