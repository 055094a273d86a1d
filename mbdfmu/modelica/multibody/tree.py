"""Which joints carry the coordinates of a model, and which close loops; must not know Modelica's text.

Joints are taken into the tree while they connect what is not connected yet: those first that hold most, and of these
last the ones that the library can cut open. What hangs on nothing then moves freely from the ground.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from mbdfmu.counterparts import Library, Local
from mbdfmu.description import GROUND
from mbdfmu.frames import Placed
from mbdfmu.joints import JointElement
from mbdfmu.signals import SymbolicModel


@dataclass(frozen=True)
class Hung:
    """A body on its way from the ground: the joint that carries it, or none where it moves freely."""

    body: str
    joint: str | None
    parent: str


@dataclass(frozen=True)
class Tree:
    """Bodies in the order from the ground outwards, joints of the tree, and what holds beside them.

    `closing` are revolutes that close planar loops, `local` joints that are classes of the text itself.
    """

    hung: tuple[Hung, ...]
    joints: dict[str, Library]
    closing: dict[str, Library]
    local: dict[str, Local]

    @property
    def free(self) -> list[str]:
        """The bodies that move freely from the ground."""
        return [h.body for h in self.hung if h.joint is None]

    def without(self, names: Collection[str]) -> Tree:
        """The same, where some joints are no components."""
        closing = {name: fact for name, fact in self.closing.items() if name not in names}
        return replace(self, closing=closing, local={n: fact for n, fact in self.local.items() if n not in names})


def steady(frame: Placed) -> bool:
    """Whether parameters alone decide where a frame is in its body."""
    return all(symbol.value[0] == "p" for node in frame.fixed for symbol in node.support)


class Settled:
    """Whether parameters alone decide what an element is given."""

    def __init__(self, model: SymbolicModel) -> None:
        self._moving = {w.text for w in model.written if any(s.value[0] != "p" for s in w.node.support)}

    def __call__(self, element: object, fact: Library | Local) -> bool:
        """For the fields that are parameters of its class."""
        given = [getattr(element, key) for key in fact.parameters.values()]
        return not any(
            one in self._moving for value in given for one in (value if isinstance(value, tuple) else [value])
        )


def spanning_tree(model: SymbolicModel) -> Tree:
    """The tree of a model."""
    settled = Settled(model)
    candidates = sorted(_candidates(model, settled), key=lambda item: item[0])
    groups = _Groups([GROUND, *model.description.bodies])
    taken: dict[str, tuple[str, str]] = {}
    left = []
    for _, name in candidates:
        ends = _bodies(model, name)
        if groups.join(*ends):
            taken[name] = ends
        else:
            left.append(name)
    elements = model.description.joints
    joints = {name: elements[name].modelica for name in elements if name in taken}  # type: ignore[attr-defined]
    closing: dict[str, Library] = {}
    local: dict[str, Local] = {}
    for name, element in elements.items():
        if not isinstance(element, JointElement) or name in taken:
            continue
        fact = element.closing if name in left else element.modelica
        if isinstance(fact, Local) and element.active and _is_steady(model, name) and settled(element, fact):
            local[name] = fact
        elif isinstance(fact, Library) and name in left and model.dimensions == 2:
            closing[name] = fact
    return Tree(tuple(_hang(model, taken)), joints, closing, local)


def _is_steady(model: SymbolicModel, joint: str) -> bool:
    return all(map(steady, model.joined[joint].ends))


def _candidates(model: SymbolicModel, settled: Settled) -> Iterator[tuple[tuple[int, bool, int], str]]:
    for k, (name, joint) in enumerate(model.description.joints.items()):
        if isinstance(joint, JointElement) and isinstance(joint.modelica, Library) and joint.active:
            freedoms = joint.freedoms.of(model.dimensions)
            if freedoms is not None and _is_steady(model, name) and settled(joint, joint.modelica):
                yield (freedoms, joint.closing is not None, k), name


def _bodies(model: SymbolicModel, joint: str) -> tuple[str, str]:
    i, j = model.joined[joint].ends
    return i.body, j.body


def _hang(model: SymbolicModel, joints: dict[str, tuple[str, str]]) -> Iterator[Hung]:
    """From the ground outwards; then from bodies that nothing connects with the ground."""
    neighbours: dict[str, list[tuple[str, str]]] = {body: [] for body in (GROUND, *model.description.bodies)}
    for name, (a, b) in joints.items():
        neighbours[a].append((name, b))
        neighbours[b].append((name, a))
    reached = set()
    for root in neighbours:
        if root in reached:
            continue
        if root != GROUND:
            yield Hung(root, None, GROUND)
        reached.add(root)
        waiting = deque([root])
        while waiting:
            parent = waiting.popleft()
            for name, body in neighbours[parent]:
                if body not in reached:
                    reached.add(body)
                    waiting.append(body)
                    yield Hung(body, name, parent)


class _Groups:
    """Which bodies are connected already."""

    def __init__(self, names: list[str]) -> None:
        self._above = {name: name for name in names}

    def join(self, a: str, b: str) -> bool:
        """Connect two bodies; false where they are connected already."""
        one, other = self._top(a), self._top(b)
        self._above[one] = other
        return one != other

    def _top(self, name: str) -> str:
        while self._above[name] != name:
            self._above[name] = name = self._above[self._above[name]]
        return name
