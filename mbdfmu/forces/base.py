"""What a force element is: efforts along rates; must not know any force or index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import model_validator

from mbdfmu import planar, spatial
from mbdfmu.counterparts import Counterpart
from mbdfmu.description import Force, MarkerRef, NonNegative, TableName
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Node
from mbdfmu.expressions.graph import postorder
from mbdfmu.expressions.opcodes import ADD, DIV, LOAD, MUL, NEG, POW, SQUARE, SUB
from mbdfmu.frames import Effort, Law, Load, Measure, Resolve, Share, distance
from mbdfmu.planar import Frame
from mbdfmu.vectors import unit

Ends = Mapping[str, Any]  # frames of planar.py or spatial.py, as the model is, by the names of the fields


class ForceElement(Force):
    """Base of the force elements: generalised forces, derivatives and power follow from its efforts (T4.0).

    Every field that names a marker becomes an end.
    """

    modelica: ClassVar[Counterpart | None] = None  # what does the same in Modelica
    dimensions: ClassVar[tuple[int, ...]] = (2, 3)  # of the models in which it exists

    def counterpart(self, dimensions: int) -> Counterpart | None:
        """What does all that this one does, with the fields that it has."""
        return self.modelica

    def measures(self, ends: Ends, resolve: Resolve) -> Mapping[str, Measure]:
        """What any expression may know of it before its law is written: lengths, angles, with their rates."""
        return {}

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        """The keys of the signals that `load` gives by `resolve.force` and `resolve.show`, for expressions to name."""
        return ()

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        """The law, on the measures with their turns counted."""
        raise TypeError(f"force type '{self.type_name}' defines no load")


class ForceBetween(ForceElement):
    """Base of the forces between the frames at `i` and `j`: each acts on j, the opposite on i."""

    i: MarkerRef
    j: MarkerRef


class ScalarForce(ForceBetween):
    """Base of the forces along one measure: a member gives measure and law."""

    linear: ClassVar[bool] = True  # whether the measure is a length or an angle

    def measure(self, i: Any, j: Any, resolve: Resolve) -> Measure:
        """What the force acts along."""
        raise TypeError(f"force type '{self.type_name}' defines no measure")

    def law(self, measure: Measure, i: Any, j: Any, resolve: Resolve) -> Law:
        """The law, on the measure with its turns counted."""
        raise TypeError(f"force type '{self.type_name}' defines no law")

    def measures(self, ends: Ends, resolve: Resolve) -> Mapping[str, Measure]:
        return {"length" if self.linear else "angle": self.measure(ends["i"], ends["j"], resolve)}

    def outputs(self, dimensions: int) -> tuple[str, ...]:
        return ("force" if self.linear else "torque",)

    def load(self, ends: Ends, measures: Mapping[str, Measure], resolve: Resolve) -> Load:
        (measure,) = measures.values()
        law, rate = self.law(measure, ends["i"], ends["j"], resolve), resolve.rate(measure.value)
        key, unit, what = ("force", "N", "length") if self.linear else ("torque", "N.m", "angle")
        total, given = law.spring + law.actuator, potential(law.actuator, measure.value, rate)
        energy = law.energy if given is None else law.energy + given
        beyond = (law.actuator,) if given is None else ()
        force = resolve.force(key, total, unit, f"positive towards a larger {what}")
        if force is not total:  # an unknown, which holds both
            return Load(shares=(Share(efforts=(Effort(rate=rate, effort=force),)),), energy=energy, beyond=beyond)
        spring = Share(efforts=(Effort(rate=rate, effort=law.spring),), kernel=law.kernel)
        actuator = Share(efforts=(Effort(rate=rate, effort=law.actuator),))
        return Load(shares=(spring, actuator), energy=energy, beyond=beyond)


class SpringDamper(ScalarForce):
    """Base of springs with a damper beside them, both linear or given by tables."""

    stiffness: NonNegative = 0.0
    damping: NonNegative = 0.0
    spring_table: TableName | None = None  # what the spring holds against its stretch, in place of the stiffness
    damper_table: TableName | None = None  # what the damper holds against the rate, in place of the damping

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        for coefficient, table in (("stiffness", "spring_table"), ("damping", "damper_table")):
            if getattr(self, table) is not None and coefficient in self.model_fields_set:
                raise ModelError(f"has both {coefficient} and {table}; leave out one of them")
        return self

    @property
    def is_linear(self) -> bool:
        """Whether no table is in it."""
        return self.spring_table is None and self.damper_table is None

    def spring_and_damper(self, measure: Measure, free: Node, resolve: Resolve) -> tuple[Node, Node]:
        """Force (positive towards a larger measure) and stored energy (T4.9)."""
        stretch, rate = measure.value - free, resolve.rate(measure.value)
        stiffness, damping = resolve(self.stiffness), resolve(self.damping)
        held, energy, lost = stiffness * stretch, 0.5 * stiffness * stretch * stretch, damping * rate
        if self.spring_table is not None:
            held, energy = resolve.table(self.spring_table)(stretch), resolve.integral(self.spring_table)(stretch)
        if self.damper_table is not None:
            lost = resolve.table(self.damper_table)(rate)
        return -(held + lost), energy


_DEGREE = 9  # of the polynomials whose potential is known
_IN_POLYNOMIALS = frozenset({LOAD, ADD, SUB, NEG, MUL, DIV, POW, SQUARE})


def potential(force: Node, measure: Node, rate: Node) -> Node | None:
    """What a given force along a measure stores: minus its integral over the measure from 0 on, exact for polynomials.

    What it gives beside, by the rate, comes from outside, and so does a force that the measure does not change. None
    where it changes with anything else too, or in another way. As in (T4.9) Taylor's series back to 0 ends.
    """
    graph = force.graph
    s, moving = graph.symbol("measure", "value"), graph.symbol("measure", "rate")
    (seen,) = graph.substitute([force], {measure: s, rate: moving})
    slope = graph.diff(seen, s)
    if slope is graph.zero:
        return graph.zero
    if any(x is not s and x.value[0] != "p" for x in slope.support):
        return None
    (still,) = graph.substitute([seen], {moving: 0.0})
    known = all(x is s or x.value[0] == "p" for x in still.support)
    if not known or any(s in n.support and n.op not in _IN_POLYNOMIALS for n in postorder((still,))):
        return None
    stored, factor, derivative = graph.zero, graph.const(-1.0), still
    for order in range(_DEGREE + 1):
        factor = factor * s / float(order + 1)
        stored = stored + (-1) ** order * factor * derivative
        derivative = graph.diff(derivative, s)
        if derivative is graph.zero:
            return graph.substitute([stored], {s: measure})[0]
    return None


def along(i: Any, j: Any, axis: Any, resolve: Resolve) -> Measure:
    """The position of j along an axis of frame i; without an axis the distance of the ends."""
    if axis is None:
        return distance(i, j)
    if isinstance(i, Frame):
        return planar.displacement(i, j, planar.unit_vector(resolve(axis)))
    return spatial.displacement(i, j, unit(resolve(axis)))


# ---------------------------------------------------------------- forces and torques with components


def geometry(frame: Any) -> Any:
    """The module that knows such frames: planar or spatial."""
    return planar if isinstance(frame, Frame) else spatial


def wrench(i: Any, j: Any, force: Sequence[Node], torque: Sequence[Node], resolve: Resolve) -> Share:
    """Force at the origin of j and torque on j, in ground axes; on i act the opposite ones, at the same point (T4.4).

    A torque without components is none.
    """
    how = geometry(i)
    rates, efforts = how.relative_velocity(i, j, resolve), tuple(force)
    if torque:
        rates, efforts = (*rates, *how.relative_spin(i, j, resolve)), (*efforts, *torque)
    return Share(efforts=tuple(Effort(rate=r, effort=e) for r, e in zip(rates, efforts, strict=True)))


def turned(frame: Any, torque: Sequence[Node]) -> Sequence[Node]:
    """A torque given in a frame's axes, in ground axes; that of the plane has one component."""
    return torque if isinstance(frame, Frame) else frame.axis(torque)


def turning(value: Any, frame: Any, resolve: Resolve) -> tuple[Node, ...]:
    """The components of a torque or rotation: one in the plane, three in space, where a default is short."""
    if isinstance(frame, Frame):
        return (resolve(value),)
    nodes: tuple[Node, ...] = resolve(value if isinstance(value, tuple) else (0.0,))
    return nodes


def force_keys(dimensions: int) -> tuple[str, ...]:
    """The names of the components of a force."""
    return tuple(f"force.{k}" for k in "xyz"[:dimensions])


def torque_keys(dimensions: int) -> tuple[str, ...]:
    """The names of the components of a torque."""
    return ("torque",) if dimensions == 2 else ("torque.x", "torque.y", "torque.z")


def shown(keys: Sequence[str], values: Sequence[Node], unit: str, text: str, resolve: Resolve) -> tuple[Node, ...]:
    """Components as signals of the element; what to use in their place."""
    return tuple(resolve.force(key, value, unit, text) for key, value in zip(keys, values, strict=True))
