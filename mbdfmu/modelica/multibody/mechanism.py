"""Bodies, markers and joints of a model as components of the library; must not know forces or how text is wrapped.

A body's component stands at its centre of mass, where its coordinates are. What the library calls the coordinates,
velocities and accelerations is kept in `known`, so that every expression of the model can be written with it.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Literal

from mbdfmu.counterparts import MULTIBODY, TURNING, Library, Local, Moving
from mbdfmu.description import GROUND
from mbdfmu.expressions import Node, greater, select
from mbdfmu.expressions.opcodes import CONST, NEG
from mbdfmu.frames import Placed
from mbdfmu.modelica.multibody.beginning import TURN, Beginning, Turn
from mbdfmu.modelica.multibody.parts import Component, Diagram, vector
from mbdfmu.modelica.multibody.tree import Hung, Tree
from mbdfmu.modelica.sheet import Part, Statement
from mbdfmu.modelica.words import Names, number
from mbdfmu.planar import Frame
from mbdfmu.signals import Coordinate, Signal, SymbolicModel
from mbdfmu.vectors import Components, combined, unit_of

WORLD = "world"
FREE_PLANE = Library(
    name=f"{MULTIBODY}.Joints.Planar",
    parameters={"n": "", "n_x": ""},
    coordinates={"x": Moving("s_x", "v_x", "a_x"), "y": Moving("s_y", "v_y", "a_y"), "phi": Moving("phi", "w", "wd")},
)
FREE_SPACE = Library(
    name=f"{MULTIBODY}.Joints.FreeMotion",
    settings=TURNING,
    coordinates={"place": Moving("r_rel_a", "v_rel_a", "a_rel_a")},
)
PARTS = (
    Library(
        name=f"{MULTIBODY}.Parts.Body",
        settings=("m", "r_CM", "I_11", "I_22", "I_33", "I_21", "I_31", "I_32"), connectors=("frame_a", "frame_a"),
    ),
    Library(name=f"{MULTIBODY}.Parts.FixedTranslation", settings=("r",)),
    Library(name=f"{MULTIBODY}.Parts.FixedRotation", settings=("r", "rotationType", "n", "angle", "n_x", "n_y")),
    Library(name=f"{MULTIBODY}.World", settings=("g", "n", "gravityType"), connectors=("frame_b", "frame_b")),
    FREE_PLANE, FREE_SPACE,
)  # fmt: skip
CUT = Library(name=f"{MULTIBODY}.Sensors.CutForceAndTorque", settings=("resolveInFrame",))
IN_WORLD = f"{MULTIBODY}.Types.ResolveInFrameA.world"
_PARALLEL = 1e-12  # what directions of length one may differ by
_DEGREES = 57.29577951308232
_ZERO = ("0", "0", "0")


@dataclass(frozen=True)
class Angle:
    """The angle of a planar body: that of its parent, a turn, and the coordinate of the joint between."""

    name: str
    parent: str  # empty on the ground
    turn: Node
    joint: str  # a variable
    forward: bool


class Mechanism:
    """Everything that moves, from the ground outwards."""

    def __init__(
        self, model: SymbolicModel, tree: Tree, begin: Beginning, names: Names, known: dict[Node, str],
        carried: Container[str],
    ) -> None:  # fmt: skip
        """What the joints of the labels in `carried` do to their bodies is measured."""
        self.m, self.tree, self.begin, self.names, self._carried = model, tree, begin, names, carried
        self.graph = model.graph
        self.diagram = Diagram()
        self.known = known
        self.components: dict[str, str] = {GROUND: WORLD}  # of bodies and joints
        self.angles: dict[str, Angle] = {}  # of planar bodies that are no variable of a component
        self.starts: list[Statement] = []  # equations that hold there only
        self.cuts: dict[str, tuple[str, str]] = {}  # by joint that is measured: the sensor, and the body
        self._places: dict[str, tuple[float, float]] = {GROUND: (0.0, 0.0)}
        self._rows = 0
        self._below: dict[float, float] = {}  # by column: the row below everything there
        self._grown: set[str] = set()
        self._written = {w.text: w.node for w in model.written}
        self._coordinates: dict[str, list[Coordinate]] = {}
        for c in model.coordinates:
            self._coordinates.setdefault(c.node, []).append(c)
        self._weights = {body.name: body for body in model.bodies}
        self._world()
        for hung in tree.hung:
            self._hang(hung)
        for name, fact in tree.closing.items():
            self._close(name, fact)

    # ---- ground and bodies

    def _world(self) -> None:
        gravity = [*self.m.gravity, *(self.graph.zero,) * (3 - len(self.m.gravity))]
        if all(g is self.graph.zero for g in gravity):
            given: dict[str, Statement] = {"gravityType": (f"{MULTIBODY}.Types.GravityTypes.NoGravity",)}
        else:
            given = {"g": self._size(gravity), "n": vector(*self._direction(gravity))}
        self.diagram.add(Component(WORLD, f"{MULTIBODY}.World", given, (0, 0), prefix="inner "))

    def _size(self, gravity: list[Node]) -> Statement:
        """Along an axis it is an entry; a root is a power, since rumoca looks for no functions in the world."""
        along = [g for g in gravity if g is not self.graph.zero]
        if len(along) == 1:
            return (_opposite(along[0]),)
        square = self.graph.sum(g * g for g in along)
        return (number(square.value**0.5),) if square.op == CONST else ("(", square, ")^0.5")

    def _direction(self, gravity: list[Node]) -> list[Part]:
        along = [g for g in gravity if g is not self.graph.zero]
        if len(along) > 1:
            square = self.graph.sum(g * g for g in along)
            if square.op == CONST:
                return list(gravity)
            return [select(greater(square, 0.0), g, 1.0 if k == 1 else 0.0) for k, g in enumerate(gravity)]
        sign = "1" if _opposite(along[0]) is along[0] else "-1"
        return ["0" if g is self.graph.zero else sign for g in gravity]

    def _place(self, parent: str, steps: int) -> tuple[float, float]:
        """The first child goes on in the row of its parent; each further one begins a row."""
        column, row = self._places[parent]
        if parent in self._grown:
            row = self.new_row()
        self._grown.add(parent)
        return column + steps, row

    def column(self, body: str) -> float:
        """Where a body stands."""
        return self._places[body][0]

    def new_row(self) -> float:
        """Below everything so far."""
        self._rows += 1
        return float(self._rows)

    def depth(self, column: float) -> float:
        """The first row in which nothing stands in a column, below all bodies and joints."""
        return max(self._rows + 1.0, self._below.get(column, 0.0))

    def below(self, *columns: float) -> float:
        """The first row in which nothing stands in these columns; something will."""
        row = max(map(self.depth, columns))
        self._below |= dict.fromkeys(columns, row + 1.0)
        return row

    def _hang(self, hung: Hung) -> None:
        """From left to right: parent, part, joint, part, body; a sensor beside the body whose joint is measured."""
        measured = self._measured(hung.joint)
        column, row = self._places[hung.body] = self._place(hung.parent, 5 if measured else 4)
        self._body(hung.body, (column, row))
        if hung.joint is None:
            self._free(hung.body, (column - 2, row))
            return
        fact = self.tree.joints[hung.joint]
        place = (column - 3 if measured == hung.body else column - 2, row)
        name = self._joint(hung.joint, fact, place, hung.parent)
        if self.m.dimensions == 2:
            self._angle(hung, name, fact)

    def _measured(self, joint: str | None) -> str:
        """The body of a joint on which a sensor is wanted."""
        if joint is None or joint in self.tree.local or f"joint '{joint}'" not in self._carried:
            return ""
        i, j = self.m.joined[joint].ends
        body: str = j.body if j.body != GROUND else i.body
        return body

    def _body(self, body: str, place: tuple[float, float]) -> None:
        weight, zero = self._weights[body], self.graph.zero
        flat = (zero, zero, weight.inertia[0], zero, zero, zero)
        xx, yy, zz, xy, xz, yz = weight.inertia if self.m.dimensions == 3 else flat
        given: dict[str, Statement] = {"m": (weight.mass,), "r_CM": vector(*_ZERO)}
        entries = {"I_11": xx, "I_22": yy, "I_33": zz, "I_21": xy, "I_31": xz, "I_32": yz}
        given |= {key: (node,) for key, node in entries.items() if key[-1] == key[-2] or node is not zero}
        name = self.components[body] = self.names.new(body)
        text = self.m.description.bodies[body].text
        self.diagram.add(Component(name, f"{MULTIBODY}.Parts.Body", given, place, text, stance="standing"))
        self._bind(body, name)

    def _bind(self, body: str, name: str) -> None:
        """Its coordinates and their derivatives."""
        symbol, own = self.graph.symbol, self._coordinates[body]
        for k, c in enumerate(own[: len(self.m.gravity)], 1):
            self.known[symbol("q", c.name)] = f"{name}.r_0[{k}]"
            self.known[symbol("v", c.name)] = f"{name}.v_0[{k}]"
            self.known[symbol("a", c.name)] = f"{name}.a_0[{k}]"
        turns = own[len(self.m.gravity) :]
        for k, c in enumerate(turns, 4 - len(turns)):
            self.known[symbol("v", c.name)] = f"{name}.w_a[{k}]"
            self.known[symbol("a", c.name)] = f"{name}.z_a[{k}]"
        if self.m.dimensions == 3:
            for i in range(3):
                for j in range(3):  # the library's matrix takes vectors into the body
                    self.known[symbol("r", f"{body}.r{i}{j}")] = f"{name}.frame_a.R.T[{j + 1}, {i + 1}]"

    # ---- frames

    def attach(
        self, frame: Placed, name: str, place: tuple[float, float], *, right: bool = False, base: str = ""
    ) -> str:
        """The connector of a frame; where it is not that of its body, or of `base`, a part carries it there.

        `right`: from the right.
        """
        base = base or self.base(frame.body)
        given = self._offset(frame)
        if given is None:
            return base
        kind = "FixedTranslation" if set(given) == {"r"} else "FixedRotation"
        part = self.diagram.add(
            Component(
                self.names.new(name), f"{MULTIBODY}.Parts.{kind}", given, place, stance="flipped" if right else ""
            )
        )
        self.diagram.connect(base, f"{part}.frame_a")
        return f"{part}.frame_b"

    def base(self, body: str) -> str:
        """The connector of a body at its centre of mass, or of the ground."""
        return f"{WORLD}.frame_b" if body == GROUND else f"{self.components[body]}.frame_a"

    def _offset(self, frame: Placed) -> dict[str, Statement] | None:
        """The modifiers of a part from the body to a frame; none where they are the same."""
        zero, turn = self.graph.zero, {}
        kinds = f"{MULTIBODY}.Types.RotationTypes"
        if isinstance(frame, Frame):
            if frame.turn is not zero:
                turn = {
                    "rotationType": (f"{kinds}.RotationAxis",), "n": vector("0", "0", "1"),
                    "angle": (_DEGREES * frame.turn,),
                }  # fmt: skip
        else:
            axes = frame.A  # type: ignore[attr-defined]
            one = self.graph.one
            if axes != ((one, zero, zero), (zero, one, zero), (zero, zero, one)):
                turn = {
                    "rotationType": (f"{kinds}.TwoAxesVectors",), "n_x": vector(*axes[0]), "n_y": vector(*axes[1])
                }  # fmt: skip
        if all(s is zero for s in frame.arm) and not turn:
            return None
        return {"r": vector(*frame.arm, *[zero] * (3 - len(frame.arm))), **turn}

    # ---- joints

    def _free(self, body: str, place: tuple[float, float]) -> None:
        """Free to move from the ground."""
        own = self._coordinates[body]
        name = self.components[f"{body} free"] = self.names.new(f"{body}.motion")
        fact = FREE_PLANE if self.m.dimensions == 2 else FREE_SPACE
        symbol = self.graph.symbol
        if self.m.dimensions == 2:
            given = {"n": vector("0", "0", "1"), "n_x": vector("1", "0", "0")}
            for c, moving in zip(own, fact.coordinates.values(), strict=True):
                given |= self._started(f"{body} free", c.name, moving, symbol("q", c.name), symbol("v", c.name))
            self.known[symbol("q", own[2].name)] = f"{name}.phi"
        else:
            place_of = [symbol("q", c.name) for c in own[:3]]
            speeds = [symbol("v", c.name) for c in own[:3]]
            given = {
                "r_rel_a": self._placed(f"{body} free", own, place_of, is_rate=False),
                "v_rel_a": self._placed(f"{body} free", own, speeds, is_rate=True),
                **self._turning(f"{body} free", self.begin.turned(body)),
            }
        self.diagram.add(Component(name, fact.name, given, place))
        self.diagram.connect(f"{WORLD}.frame_b", f"{name}.frame_a")
        self.diagram.connect(f"{name}.frame_b", self.base(body))

    def _placed(self, owner: str, own: list[Coordinate], nodes: list[Node], *, is_rate: bool) -> Statement:
        """The place of a body that is free in space, or its velocity."""
        fixed = [self.begin.is_fixed(owner, c.name, rate=is_rate) for c in own[:3]]
        said = vector(*(str(one).lower() for one in fixed)) if not all(fixed) else ("true",)
        return ("(start=", *vector(*map(self.begin, nodes)), ", each fixed=" if all(fixed) else ", fixed=", *said, ")")

    def _turning(self, owner: str, turn: Turn) -> dict[str, Statement]:
        """The library fixes all angles, or angular velocities, or none: then those that are free are equations."""
        whole = {}
        for is_rate, nodes in ((False, turn.angles), (True, turn.spin)):
            fixed = [n for k, n in enumerate(nodes) if self.begin.is_fixed(owner, f"{TURN}{k}", rate=is_rate)]
            whole[is_rate] = "true" if len(fixed) == len(nodes) else "false"
            self.starts += [(n, " = ", self.begin(n)) for n in fixed] if len(fixed) < len(nodes) else []
        sequence = vector(*map(str, turn.sequence))
        return {
            "angles_fixed": (whole[False],), "sequence_start": sequence,
            "angles_start": vector(*map(self.begin, turn.angles)),
            "w_rel_a_fixed": (whole[True],), "w_rel_a_start": vector(*map(self.begin, turn.spin)),
            "useQuaternions": ("false",), "sequence_angleStates": sequence,
        }  # fmt: skip

    def _started(self, owner: str, key: str, moving: Moving, value: Node, rate: Node) -> dict[str, Statement]:
        """Start values of a coordinate and its rate."""
        given: dict[str, Statement] = {}
        for name, node, is_rate in ((moving.value, value, False), (moving.rate, rate, True)):
            said = self.m.signals.get(f"{owner}.{key}{'_rate' if is_rate else ''}.start")
            fixed = ", fixed=true" if self.begin.is_fixed(owner, key, rate=is_rate) else ""
            given[name] = ("(start=", self._said(said, node) if said and fixed else self.begin(node), f"{fixed})")
        return given

    def _said(self, start: Signal, found: Node) -> Node:
        """What a joint is said to start with, unless that was a guess that has been given up."""
        return start.node if self.begin.is_met(start.node, found) else self.begin(found)

    def _joint(self, joint: str, fact: Library, place: tuple[float, float], parent: str) -> str:
        given = self._axes(joint, fact.parameters)
        name = self.components[joint] = self.names.new(joint)
        for key, moving in fact.coordinates.items():
            value, rate = (self.m.signals[f"{joint}.{word}"].node for word in (key, f"{key}_rate"))
            given |= self._started(joint, key, moving, value, rate)
            self._know(name, moving, value, rate)
        if fact.turns:
            given |= {"enforceStates": ("true",), **self._turning(joint, self.begin.between(joint))}
        if "r" in fact.settings:
            given["r"] = vector(*_ZERO)
        self._connect(joint, fact, given, place, parent)
        return name

    def _know(self, name: str, moving: Moving, value: Node, rate: Node) -> None:
        """A coordinate of a component; angles are the same whether their turns are counted or not, but for those."""
        self.known.setdefault(value, f"{name}.{moving.value}")
        self.known.setdefault(rate, f"{name}.{moving.rate}")
        self.known.setdefault(self.m.rate(rate), f"{name}.{moving.acceleration}")

    def _close(self, joint: str, fact: Library) -> None:
        self.components[joint] = self.names.new(joint)
        column = self.column(self.m.joined[joint].ends[0].body)
        place = column + (3 if self._measured(joint) else 2), self.new_row()
        self._connect(joint, fact, self._axes(joint, fact.parameters), place, "")

    def hold(self, joint: str, fact: Local, closing_rate: Node) -> str:
        """A joint that is a class of the text itself; returns the component."""
        name = self.components[joint] = self.names.new(joint)
        element: Any = self.m.description.joints[joint]
        given: dict[str, Statement] = {key: (self.resolve(getattr(element, f)),) for key, f in fact.parameters.items()}
        i, j = (frame.body for frame in self.m.joined[joint].ends)
        column = self.column(i if i != GROUND else j) + 2
        place = column, self.below(column - 1, column, column + 1)
        self._connect(joint, fact, {**given, "closing_rate": (closing_rate,)}, place, "")
        return name

    def _connect(
        self, joint: str, fact: Library | Local, given: dict[str, Statement], place: tuple[float, float], parent: str
    ) -> None:
        name, (i, j) = self.components[joint], self.m.joined[joint].ends
        column, row = place
        backwards, measured = parent == j.body, self._measured(joint)
        text = self.m.description.joints[joint].text
        self.diagram.add(Component(name, fact.name, given, place, text, stance="flipped" if backwards else ""))
        first, second = fact.connectors
        for frame, port, end, right in ((i, first, "i", backwards), (j, second, "j", not backwards)):
            aside, base = 1 if right else -1, ""
            if frame.body == measured:
                base = self._cut(joint, measured, (column + 2 * aside, row), right=right)
            connector = self.attach(frame, f"{joint}.{end}", (column + aside, row), right=right, base=base)
            self.diagram.connect(connector, f"{name}.{port}")

    def _cut(self, joint: str, body: str, place: tuple[float, float], *, right: bool) -> str:
        """A sensor on the body for what the joint does to it; returns the connector for the joint."""
        given: dict[str, Statement] = {"resolveInFrame": (IN_WORLD,)}
        stance: Literal["", "flipped"] = "flipped" if right else ""
        name = self.names.new(f"{joint}.reaction")
        sensor = self.diagram.add(Component(name, CUT.name, given, place, stance=stance))
        self.diagram.connect(self.base(body), f"{sensor}.frame_a")
        self.cuts[joint] = sensor, body
        return f"{sensor}.frame_b"

    def _axes(self, joint: str, parameters: Any) -> dict[str, Statement]:
        element: Any = self.m.description.joints[joint]
        axes = element.counterpart_axes(self.resolve) if parameters else {}
        return {name: vector(*nodes, *["0"] * (3 - len(nodes))) for name, nodes in axes.items()}

    def resolve(self, value: Any) -> Any:
        """The node of a number or expression of the description, or the nodes of a tuple."""
        if isinstance(value, tuple):
            return tuple(map(self.resolve, value))
        return self._written[value] if isinstance(value, str) else self.graph.const(value)

    def keeps_axis(self, i: Placed, j: Placed, axis: tuple[Node, ...]) -> bool:
        """Whether a joint of the tree keeps one direction in space for an axis of both frames."""
        for name, fact in self.tree.joints.items():
            joined = self.m.joined[name]
            of = {end.body: end for end in joined.ends}
            if of.keys() != {i.body, j.body} or "angle" not in fact.coordinates:
                continue
            if all(_parallel(in_body(end, axis), in_body(of[end.body], joined.axis)) for end in (i, j)):
                return True
        return False

    # ---- angles of planar bodies

    def _angle(self, hung: Hung, name: str, fact: Library) -> None:
        """phi_j = phi_i + turn_i - turn_j + angle of the joint."""
        assert hung.joint is not None
        i, j = self.m.joined[hung.joint].ends
        forward = hung.parent == i.body
        turn = i.turn - j.turn if forward else j.turn - i.turn
        variable = next((f"{name}.{m.value}" for key, m in fact.coordinates.items() if key == "angle"), "")
        symbol = self.graph.symbol("q", self._coordinates[hung.body][2].name)
        if symbol in self.known:
            return  # the joint's coordinate is the body's angle
        self.angles[hung.body] = Angle(symbol.value[1], hung.parent, turn, variable, forward)


def in_body(frame: Placed, axis: Components) -> Components:
    """A direction of a frame in the axes of its body; in the plane that across it stays what it is."""
    return axis if isinstance(frame, Frame) else combined(axis, frame.A)  # type: ignore[attr-defined]


def _parallel(one: Components, other: Components) -> bool:
    """Whether directions are known to be, whatever the parameters."""
    pairs = list(zip(unit_of(one), unit_of(other), strict=True))
    return any(
        all((gap := a - sign * b).op == CONST and abs(gap.value) <= _PARALLEL for a, b in pairs) for sign in (1.0, -1.0)
    )


def _opposite(node: Node) -> Node:
    """What has a minus before it, without it."""
    if node.op == CONST:
        return node.graph.const(abs(node.value))
    return node.args[0] if node.op == NEG else node
