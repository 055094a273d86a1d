"""The tree of a description: systems within systems, their components and connections; must not open any FMU."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from mbdfmu.cosim.ssp.markup import DEEPEST, Findings, Tag
from mbdfmu.description.messages import listed
from mbdfmu.errors import did_you_mean
from mbdfmu.fmi.reading import CO_SIMULATION, MODEL_EXCHANGE, FmuInfo

FMU = "application/x-fmu-sharedlibrary"
IMPLEMENTATIONS = {"CoSimulation": CO_SIMULATION, "ModelExchange": MODEL_EXCHANGE}
ANY = "any"  # as it comes
_LONGEST = 60  # of a name that is made

Node = tuple[tuple[str, ...], str]  # path of an element, and its connector


@dataclass(eq=False)
class Part:
    """A component or a system."""

    tag: Tag
    path: tuple[str, ...]  # the outermost system is ()
    connectors: dict[str, Tag]

    @property
    def shown(self) -> str:
        """For messages."""
        return ".".join(self.path) or self.tag.get("name")


@dataclass(eq=False)
class Leaf(Part):
    """A component."""

    name: str = ""  # in our description
    facts: FmuInfo | None = None


@dataclass(eq=False)
class Group(Part):
    """A system."""

    elements: dict[str, Leaf | Group] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)  # elements that are findings

    def leaves(self) -> Iterator[Leaf]:
        """All components below."""
        for element in self.elements.values():
            yield from element.leaves() if isinstance(element, Group) else (element,)

    def groups(self) -> Iterator[Group]:
        """This one and all systems below."""
        yield self
        for element in self.elements.values():
            if isinstance(element, Group):
                yield from element.groups()


@dataclass(frozen=True, eq=False)
class Edge:
    """A connection."""

    start: Node
    end: Node
    tag: Tag
    suppress: bool  # units are not converted
    factor: float
    offset: float


def read_group(tag: Tag, path: tuple[str, ...] = ()) -> Group:
    """A <System> with all in it; what cannot be read goes to the findings."""
    group = Group(tag, path, _connectors(tag))
    if len(path) > DEEPEST:
        tag.problem(f"'{group.shown}' is nested deeper than {DEEPEST} levels; flatten it")
        return group
    for child in _elements(tag):
        name = child.needed("name")
        if name in group.elements:
            child.problem(f"'{name}' is there already; rename one")
        elif name:
            element = _element(child, (*path, name))
            if element is None:
                group.refused.add(name)
            else:
                group.elements[name] = element
    if tag.child("SignalDictionaries") is not None:
        tag.findings.note("signal dictionaries are left out, of system", group.shown)
    return group


def _elements(tag: Tag) -> Iterator[Tag]:
    for elements in tag.children("Elements"):
        yield from elements.children()


def _element(tag: Tag, path: tuple[str, ...]) -> Leaf | Group | None:
    if tag.name == "System":
        return read_group(tag, path)
    shown = ".".join(path)
    if tag.name != "Component":
        what = "a signal dictionary" if tag.name == "SignalDictionaryReference" else f"a {tag.name}"
        tag.problem(f"'{shown}' is {what}, which no coupled FMU can be; connect the components directly")
        return None
    kind = tag.get("type") or FMU
    if kind != FMU:
        tag.problem(f"'{shown}' is no FMU but of type '{kind}'; replace it with an FMU, or a <System>")
        return None
    return Leaf(tag, path, _connectors(tag))


def _connectors(tag: Tag) -> dict[str, Tag]:
    return {connector.needed("name"): connector for connector in tag.children("Connectors", "Connector")}


# ---------------------------------------------------------------- names


def name_leaves(root: Group, findings: Findings) -> None:
    """Give every component a name that is an identifier and is there once."""
    taken: set[str] = set()
    for leaf in root.leaves():
        leaf.name = free(identifier("_".join(leaf.path)), taken)
        taken.add(leaf.name)
        if leaf.path != (leaf.name,):
            findings.note("renamed", f"'{leaf.shown}' is {leaf.name}")


def identifier(text: str) -> str:
    """Letters, digits and _, no digit first."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text)[:_LONGEST]
    return name if re.match("[A-Za-z_]", name) else f"_{name}"


def free(name: str, taken: Collection[str]) -> str:
    """The name, or one like it that is not taken."""
    found, k = name, 1
    while found in taken:
        k += 1
        found = f"{name}_{k}"
    return found


# ---------------------------------------------------------------- connections


def edges(root: Group) -> Iterator[Edge]:
    """All connections; those with an end that is not there are findings."""
    for group in root.groups():
        for tag in group.tag.children("Connections", "Connection"):
            start, end = (_node(group, tag, side) for side in ("start", "end"))
            factor, offset = transformation(tag)
            if start and end:
                if (factor, offset) == (1.0, 0.0) and _takes(group, start) and _takes(group, end) is False:
                    start, end = end, start  # some tools draw them that way
                    tag.findings.note("connections from an input to an output are turned round, to",
                                      ".".join([*end[0], end[1]]))  # fmt: skip
                yield Edge(start, end, tag, tag.flag("suppressUnitConversion"), factor, offset)


def _takes(group: Group, node: Node) -> bool | None:
    """Whether a connector takes a value from connections in this system, or gives one; None where it does not say."""
    path, name = node
    part = group if path == group.path else group.elements[path[-1]]
    kind = part.connectors[name].get("kind") if name in part.connectors else ""
    return (kind == "input") == (part is not group) if kind in ("input", "output") else None


def _node(group: Group, tag: Tag, side: str) -> Node | None:
    element, connector = tag.get(f"{side}Element"), tag.needed(f"{side}Connector")
    if element in group.refused:
        return None
    if element and element not in group.elements:
        hint = did_you_mean(element, group.elements)
        tag.problem(f"names an element '{element}', which is not in system '{group.shown}'{hint}; "
                    f"it has: {listed(group.elements)}")  # fmt: skip
        return None
    if not connector:
        return None
    return ((*group.path, element) if element else group.path), connector


def transformation(tag: Tag) -> tuple[float, float]:
    """Factor and offset; other transformations are findings."""
    for child in tag.children():
        if child.name == "LinearTransformation":
            return child.number("factor", 1.0), child.number("offset")
        if child.name.endswith("Transformation"):
            child.problem("is not known here; only LinearTransformation is")
    return 1.0, 0.0
