"""What holds and drives: joints, forces, motions and constraints; must not know a joint or force by name."""

from __future__ import annotations

from functools import partial
from typing import Any

from mbdfmu.description import Force, Joint, Marker, Motion
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.forces import ForceElement
from mbdfmu.frames import Measure, Primitive, Recipe, Row, Side
from mbdfmu.joints import JointElement, Relation
from mbdfmu.resolution import ACCELERATION, ANY, PLACES, POSITION, SPEED, TIME
from mbdfmu.signals.draft import Context, Draft
from mbdfmu.signals.plane import Plane
from mbdfmu.signals.space import Space
from mbdfmu.signals.table import Constraint, ForceTerm, Initial, Signal, Winding
from mbdfmu.units import differentiated

_WORK = "generalised force, towards a larger value"
# How often a motion differentiates what it drives, and what its value may depend on.
_DRIVES = {"position": (0, TIME), "velocity": (1, SPEED), "acceleration": (2, ACCELERATION)}
_OF_CURE = '; "of" names the coordinate, "level" says how often it is differentiated'
_CURE = '; "level": "velocity" allows positions, inputs and states too'


class Elements:
    """The sections of a description that act on bodies and coordinates, one after the other."""

    def __init__(self, draft: Draft, geometry: Plane | Space) -> None:
        self.draft, self.geometry = draft, geometry
        self.frames: dict[str, Any] = {}  # of named markers; planar or spatial as the geometry is

    # ---- frames

    def markers(self) -> None:
        for name in self.draft.d.markers:
            frame = self.frames[name] = self._frame(f"markers.{name}", name, PLACES)
            self.geometry.add_marker(name, frame)

    def _frame(self, path: str, end: Marker | str, allowed: frozenset[str]) -> Any:
        if isinstance(end, str) and end in self.frames:
            self._check_place(path, end, allowed)
            return self.frames[end]
        return self.geometry.frame(path, self.draft.d.marker(end), allowed)

    def _check_place(self, path: str, marker: str, allowed: frozenset[str]) -> None:
        symbols = {s for node in self.frames[marker].fixed for s in node.support}
        for s in sorted(symbols, key=lambda s: s.index):
            if s.value[0] not in allowed:
                problem = f"marker '{marker}' moves with the input '{s.value[1]}'; only forces may act on such a marker"
                self.draft.problems.append(f"{path}: {problem}")

    def _both_ends(self, path: str, element: Joint | Force, allowed: frozenset[str]) -> tuple[Any, Any]:
        i, j = (self._frame(f"{path}.{end}", getattr(element, end), allowed) for end in ("i", "j"))
        self.draft.ends += [i, j]
        return i, j

    # ---- joints

    def joints(self) -> None:
        """First the joints with ends, whose coordinates the relations name."""
        members = {name: self._member(name, joint) for name, joint in self.draft.d.joints.items()}
        held = {name: self._joint(name, joint) for name, joint in members.items() if not isinstance(joint, Relation)}
        self.draft.names.settle()  # the start values
        for name, (context, free) in held.items():
            self._initials(name, members[name], context, free)
        for name, joint in members.items():
            if isinstance(joint, Relation):
                self._check_start(name, joint, {})
                recipe = joint.relation(Context(self.draft, "joints", name, POSITION))
                self._hold(name, f"joint '{name}'", recipe.primitives)

    def _member(self, name: str, joint: Joint) -> JointElement:
        if isinstance(joint, JointElement):
            return joint
        raise ModelError(f"joints.{name}: type '{joint.type_name}' has no recipe; derive it from JointElement")

    def _joint(self, name: str, joint: JointElement) -> tuple[Context, dict[str, Measure]]:
        context = Context(self.draft, "joints", name, TIME)
        if joint.freedoms.of(self.draft.d.dimensions) is None:
            kind = "spatial" if self.draft.d.dimensions == 2 else "planar"
            self.draft.problems.append(f"joints.{name}: type '{joint.type_name}' exists in {kind} models only")
            return context, {}
        i, j = self._both_ends(f"joints.{name}", joint, TIME)
        try:
            recipe: Recipe = getattr(joint, self.geometry.recipe)(i, j, context)
        except ModelError as error:
            if self.draft.names.unresolved == context.unresolved:  # what is not resolved stands as zero
                self.draft.problems += [f"joints.{name}: {problem}" for problem in error.problems]
            return context, {}
        free = {key: context.counted(key, measure) for key, measure in recipe.free.items()}
        for key, measure in free.items():
            self.draft.measure(f"{name}.{key}", measure)
        label = f"joint '{name}'"
        self._hold(name, label, recipe.primitives, (i.body, j.body))
        self.geometry.add_reactions(name, label, recipe.primitives, (i, j))
        self._postpone_starts(name, joint, free)
        return context, free

    def _hold(
        self, name: str, label: str, primitives: tuple[Primitive, ...], ends: tuple[str, str] | None = None
    ) -> None:
        """Constraint rows and their reactions."""
        for row in (row for primitive in primitives for row in primitive.rows if row.reaction):
            reaction = row.sign * self.draft.graph.symbol("lam", f"{label} ({row.direction})")
            u, text = "N" if row.unit == "m" else "N.m", f"{label}: {row.text}"
            self.draft.add(Signal(name=f"{name}.reaction.{row.reaction}", unit=u, node=reaction, text=text))
        sides = [side for primitive in primitives for side in primitive.sides]
        self.draft.sides += [Side(label=f"{label}: {side.label}", node=side.node) for side in sides]
        self.draft.constraints.append(Constraint(label=label, name=name, primitives=primitives, ends=ends))

    # ---- start values of joints

    def _postpone_starts(self, name: str, joint: JointElement, free: dict[str, Measure]) -> None:
        self._check_start(name, joint, free)
        for key, initial in joint.start.items():
            if measure := free.get(key.removesuffix("_rate")):
                unit = differentiated(measure.unit) if key.endswith("_rate") else measure.unit
                start = partial(self.draft.start, f"{name}.{key}", initial.value, unit, f"joints.{name}.start.{key}")
                self.draft.names.postpone(f"{name}.{key}.start", start)

    def _check_start(self, name: str, joint: JointElement, free: dict[str, Measure]) -> None:
        known = [*free, *(f"{key}_rate" for key in free)]
        for key in joint.start:
            if key not in known:
                hint = did_you_mean(key, known)
                allowed = ", ".join(known) or "none"
                problem = f"{key!r} is no free coordinate of the joint{hint}; allowed: {allowed}"
                self.draft.problems.append(f"joints.{name}.start: {problem}")

    def _initials(self, name: str, joint: JointElement, context: Context, free: dict[str, Measure]) -> None:
        for key, node in context.turning.items():
            winding = Winding(name=f"{name}.{key}", node=node, start=self.draft.started(f"{name}.{key}"))
            self.draft.windings.append(winding)
        for key, initial in joint.start.items():
            if measure := free.get(key.removesuffix("_rate")):
                rate = key.endswith("_rate")
                node = self.draft.motion.rate(measure.value) if rate else measure.value
                self.draft.initials.append(
                    Initial(
                        label=f"start of {name}.{key}",
                        value=node - self.draft.started(f"{name}.{key}"),
                        level="velocity" if rate else "position",
                        required=initial.priority == "required",
                        unit=differentiated(measure.unit) if rate else measure.unit,
                    )
                )

    # ---- forces

    def measures(self) -> None:
        """Lengths of forces come before their laws, so that every law may use every length."""
        for name, force in self.draft.d.forces.items():
            if not isinstance(force, ForceElement):
                raise ModelError(f"forces.{name}: type '{force.type_name}' has no law; derive it from ForceElement")
            i, j = self._both_ends(f"forces.{name}", force, PLACES)
            context = Context(self.draft, "forces", name, PLACES)
            measure = force.measure(i, j, context)
            key = "length" if measure.unit == "m" else "angle"
            counted = context.counted(key, measure)
            for node in context.turning.values():
                zero = self.draft.graph.zero
                self.draft.windings.append(Winding(name=f"{name}.{key}", node=node, start=zero))
            self.draft.measure(f"{name}.{key}", counted)
            signal = f"{name}.{'force' if measure.unit == 'm' else 'torque'}"
            self.draft.names.postpone(signal, partial(self._force, signal, name, counted, (i, j)))

    def _force(self, signal: str, name: str, measure: Measure, ends: tuple[Any, Any]) -> None:
        force = self.draft.d.forces[name]
        assert isinstance(force, ForceElement)
        load = force.load(measure, *ends, Context(self.draft, "forces", name, ANY))
        law, u = load.spring + load.actuator, "N" if measure.unit == "m" else "N.m"
        power, rate = "of the element on what moves with its ends", self.draft.motion.rate(measure.value)
        text = f"force '{name}', positive towards a larger {measure.unit}"
        self.draft.add(Signal(name=signal, unit=u, node=law, text=text))
        self.draft.add(Signal(name=f"{name}.energy", unit="J", node=load.energy, text="stored in the spring"))
        self.draft.add(Signal(name=f"{name}.power", unit="W", node=law * rate, text=power))
        self.draft.forces.append(ForceTerm(name=name, measure=measure, load=load, ends=ends))

    # ---- motions and constraints

    def constraints(self) -> None:
        for name, motion in self.draft.d.motions.items():
            self._motion(name, motion)
        for name, c in self.draft.d.constraints.items():
            known = self.draft.names.unresolved
            value = self.draft.names.value(f"constraints.{name}", c.value, POSITION)
            if not self.draft.motion.of(value) and self.draft.names.unresolved == known:
                problem = "holds no coordinate; name at least one in the expression"
                self.draft.problems.append(f"constraints.{name}: {problem}")
            row = Row(direction="value", value=value, unit=_kind(c.unit), reaction="force", text=_WORK)
            self._hold(name, f"constraint '{name}'", (Primitive(rows=(row,)),))

    def _motion(self, name: str, m: Motion) -> None:
        path, (times, allowed) = f"motions.{name}", _DRIVES[m.level]
        names, known = self.draft.names, self.draft.names.unresolved
        driven = names.value(f"{path}.of", m.of, POSITION, _OF_CURE)
        for _ in range(times):
            driven = self.draft.motion.rate(driven)
        u = self.draft.unit_of(m.of) if m.unit is None else m.unit
        if not u and names.unresolved == known:
            self.draft.problems.append(f'{path}: the unit of {m.of!r} is not known; give "unit": "m" or "rad"')
        wanted = names.value(f"{path}.value", m.value, allowed, "" if times else _CURE)
        row = Row(direction="drive", value=driven - wanted, unit=_kind(u), reaction="force", text=_WORK, level=m.level)
        self._hold(name, f"motion '{name}'", (Primitive(rows=(row,)),))


def _kind(unit: str) -> str:
    return "rad" if unit == "rad" else "m"
