"""What holds and drives: joints, forces, motions and constraints; must not know a joint or force by name."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from mbdfmu.coordinates import SOLVED
from mbdfmu.description import Joint, Marker, MarkerReference, Motion, Variable, components
from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.forces import ForceElement
from mbdfmu.frames import Joined, Measure, Primitive, Recipe, Row
from mbdfmu.joints import JointElement, Relation
from mbdfmu.resolution import ACCELERATION, ANY, PARAMETERS, PLACES, POSITION, SPEED, TIME
from mbdfmu.signals.between import Between
from mbdfmu.signals.draft import Context, Draft
from mbdfmu.signals.plane import Plane
from mbdfmu.signals.space import Space
from mbdfmu.signals.table import Algebraic, Constraint, ForceTerm, Function, Initial, Signal, Winding
from mbdfmu.units import differentiated

_WORK = "generalised force, towards a larger value"
# How often a motion differentiates what it drives, and what its value may depend on.
_DRIVES = {"position": (0, TIME), "velocity": (1, SPEED), "acceleration": (2, ACCELERATION)}
_GIVEN = frozenset("ptu")  # rates that depend on these alone are prescribed, and stand still with the time
_OF_CURE = '; "of" names the coordinate, "level" says how often it is differentiated'
_CURE = '; "level": "velocity" allows positions, inputs and states too'


class Elements:
    """The sections of a description that act on bodies and coordinates, one after the other."""

    def __init__(self, draft: Draft, geometry: Plane | Space) -> None:
        self.draft, self.geometry = draft, geometry
        self.free: dict[str, dict[str, Measure]] = {}  # by joint, what it leaves free
        self.frames: dict[str, Any] = {}  # of named markers; planar or spatial as the geometry is

    # ---- frames

    def markers(self) -> None:
        for name in self.draft.d.markers:
            frame = self.frames[name] = self._frame(f"markers.{name}", name, PLACES)
            self.geometry.add_marker(name, frame)
        self.draft.names.between = Between(self.draft, self.geometry, self.frames)

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

    def _both_ends(self, path: str, element: Joint, allowed: frozenset[str]) -> tuple[Any, Any]:
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
                self.free[name] = {}
                self.draft.joined[name] = Joined(name=name, type=joint.type_name)
                recipe = joint.relation(Context(self.draft, "joints", name, POSITION))
                self.hold(name, f"joint '{name}'", recipe.primitives, active=joint.active)

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
        axis = context(joint.axis) if hasattr(joint, "axis") else ()
        self.draft.joined[name] = Joined(name=name, type=joint.type_name, ends=(i, j), free=free, axis=axis)
        for key, measure in free.items():
            self.draft.measure(f"{name}.{key}", measure)
        self.free[name] = free
        label = f"joint '{name}'"
        self.hold(name, label, recipe.primitives, ends=(i.body, j.body), active=joint.active)
        self.geometry.add_reactions(name, label, recipe.primitives, (i, j))
        self._postpone_starts(name, joint, free)
        return context, free

    def hold(
        self,
        name: str,
        label: str,
        primitives: tuple[Primitive, ...],
        *,
        ends: tuple[str, str] | None = None,
        active: bool = True,
        drives: bool = False,
    ) -> None:
        """Constraint rows and their reactions."""
        for row in (row for primitive in primitives for row in primitive.rows if row.reaction):
            reaction = row.sign * self.draft.graph.symbol("lam", f"{label} ({row.direction})")
            u, text = "N" if row.unit == "m" else "N.m", f"{label}: {row.text}"
            self.draft.add(Signal(name=f"{name}.reaction.{row.reaction}", unit=u, node=reaction, text=text))
        sides = [side for primitive in primitives for side in primitive.sides if active]
        self.draft.sides += [replace(side, label=f"{label}: {side.label}") for side in sides]
        self.draft.constraints.append(
            Constraint(label=label, name=name, primitives=primitives, ends=ends, active=active, drives=drives)
        )

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

    def forces(self) -> None:
        """What forces measure comes before their laws, so that every law may use every length."""
        for name, force in self.draft.d.forces.items():
            if not isinstance(force, ForceElement):
                raise ModelError(f"forces.{name}: type '{force.type_name}' has no law; derive it from ForceElement")
            dimensions = self.draft.d.dimensions
            if dimensions not in force.dimensions:
                kind = "spatial" if dimensions == 2 else "planar"
                self.draft.problems.append(f"forces.{name}: type '{force.type_name}' exists in {kind} models only")
                continue
            self._force(name, force)

    def _force(self, name: str, force: ForceElement) -> None:
        ends = self._ends(name, force)
        context = Context(self.draft, "forces", name, PLACES)
        found = force.measures(ends, context)
        measures = {key: context.counted(key, measure) for key, measure in found.items()}
        for key, node in context.turning.items():
            self.draft.windings.append(Winding(name=f"{name}.{key}", node=node, start=self.draft.graph.zero))
        for key, measure in measures.items():
            self.draft.measure(f"{name}.{key}", measure)
        keys = (*force.outputs(self.draft.d.dimensions), "energy", "power")
        load = partial(self._load, name, force, ends, measures)
        self.draft.names.postpone(tuple(f"{name}.{key}" for key in keys), load, loops=True)

    def _ends(self, name: str, force: ForceElement) -> dict[str, Any]:
        """The frames of all fields that name a marker."""
        fields = {end: getattr(force, end) for end in type(force).model_fields}
        given = {end: value for end, value in fields.items() if isinstance(value, Marker | MarkerReference)}
        ends = {end: self._frame(f"forces.{name}.{end}", value, PLACES) for end, value in given.items()}
        self.draft.ends += ends.values()
        return ends

    def _load(self, name: str, force: ForceElement, ends: dict[str, Any], measures: dict[str, Measure]) -> None:
        context = Context(self.draft, "forces", name, ANY)
        try:
            load = force.load(ends, measures, context)
        except ModelError as error:
            if self.draft.names.unresolved == context.unresolved:  # what is not resolved stands as zero
                self.draft.problems += [f"forces.{name}: {problem}" for problem in error.problems]
            return
        power = self.draft.graph.sum(effort.effort * effort.rate for effort in load.efforts)
        context.show("energy", load.energy, "J", "stored in the element")
        context.show("power", power, "W", "of the element on what moves with its ends")
        self.draft.forces.append(ForceTerm(name=name, load=load, ends=tuple(ends.values())))

    # ---- states and variables

    def states(self) -> None:
        """The symbols of differential states, which anything may use."""
        for name, state in self.draft.d.states.items():
            for n, one in enumerate(components(name, state.law)):
                start = state.start[n] if isinstance(state.start, tuple) else state.start
                unit, path = state.unit, f"states.{name}.start"
                self.draft.state(one, label=f"state '{one}'", unit=unit, text=state.text, nominal=state.nominal)
                self.draft.names.postpone(f"{one}.start", partial(self.draft.start, one, start, unit, path))

    def state_equations(self) -> None:
        """What holds for the states, once everything has its name."""
        for name, state in self.draft.d.states.items():
            kind = "equation" if state.rate is None else "rate"
            for one, path, law in _laws(name, f"states.{name}.{kind}", state.law):
                node = self.draft.names.value(path, law, ANY)
                rate = self.draft.graph.symbol("xd", one)
                self.draft.holds(one, node if state.rate is None else rate - node)
        self._check_rates()

    def _check_rates(self) -> None:
        """Equations that hold no rate cannot say how a state moves."""
        found = {s.value[1] for state in self.draft.states() for s in state.equation.support if s.value[0] == "xd"}
        for name, state in self.draft.d.states.items():
            for one in components(name, state.law):
                if one not in found and not self.draft.names.problems:
                    problem = f"no equation holds der({one}); add it, or make {one!r} a variable"
                    kind = "equation" if state.rate is None else "rate"
                    self.draft.problems.append(f"states.{name}.{kind}: {problem}")

    def variables(self) -> None:
        """Values that wait for whatever they are made of."""
        for name, variable in self.draft.d.variables.items():
            define = self._solved if variable.value is None else self._computed
            names = tuple(components(name, variable.law))
            self.draft.names.postpone(names, partial(define, name, variable), loops=True)

    def callbacks(self) -> None:
        """The values of functions in Python are unknowns, so that anything may use them."""
        for name, callback in self.draft.d.callbacks.items():
            for n, suffix in enumerate(callback.names):
                one, graph = f"{name}{suffix}", self.draft.graph
                given = callback.start[n] if isinstance(callback.start, tuple) else callback.start
                start = self.draft.names.value(f"callbacks.{name}.start", given, PARAMETERS)
                y = self.draft.names.unknown(one)
                self.draft.unknown(one, f"callback '{one}'", y - graph.symbol("ext", one), start)
                self.draft.add(Signal(name=one, unit=callback.unit, node=y, text=callback.text))

    def functions(self) -> None:
        """What functions in Python are given, once everything has its name."""
        for name, callback in self.draft.d.callbacks.items():
            value = self.draft.names.value
            inputs = [value(f"callbacks.{name}.inputs[{k}]", v, ANY) for k, v in enumerate(callback.inputs)]
            given = enumerate(callback.parameters)
            fixed = [value(f"callbacks.{name}.parameters[{k}]", v, PARAMETERS) for k, v in given]
            function = Function(
                name=name,
                python=callback.python,
                inputs=tuple(inputs),
                parameters=tuple(fixed),
                values=tuple(f"{name}{suffix}" for suffix in callback.names),
            )
            self.draft.functions.append(function)

    def _computed(self, name: str, variable: Variable) -> None:
        for one, path, law in _laws(name, f"variables.{name}", variable.law):
            node = self.draft.names.value(path, law, ANY)
            node = self.draft.closed(one, node, f"variable '{one}'", keep=True)
            self.draft.add(Signal(name=one, unit=variable.unit, node=node, text=variable.text))

    def _solved(self, name: str, variable: Variable) -> None:
        for n, (one, path, law) in enumerate(_laws(name, f"variables.{name}.equation", variable.law)):
            given = variable.start[n] if isinstance(variable.start, tuple) else variable.start
            start = self.draft.names.value(f"variables.{name}.start", given, PARAMETERS)
            equation = self.draft.names.value(path, law, ANY)
            self.draft.unknown(one, f"variable '{one}'", equation, start)
            node = self.draft.names.unknown(one)
            self.draft.add(Signal(name=one, unit=variable.unit, node=node, text=variable.text))

    def check_loops(self) -> None:
        """What depends on itself must do so in a way that can be solved for."""
        for unknown in self.draft.unknowns:
            loose = {s for s in unknown.equation.support if s.value[0] in SOLVED}
            if not any(self.draft.graph.diff(unknown.equation, s) is not self.draft.graph.zero for s in loose):
                self.draft.problems.append(self._hopeless(unknown))

    def _hopeless(self, unknown: Algebraic) -> str:
        if unknown.name not in self.draft.names.unknowns:
            return f"the equation of {unknown.label} holds nothing that could be solved for; correct it"
        loop = self.draft.names.unknowns[unknown.name]
        return f"{unknown.label} depends on itself ({loop}) and no value of it solves that; correct its expression"

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
            row = Row(direction="value", value=value, unit=kind(c.unit), reaction="force", text=_WORK)
            self.hold(name, f"constraint '{name}'", (Primitive(rows=(row,)),), active=c.active)

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
        if times and all(s.value[0] in _GIVEN for s in wanted.support):
            wanted = self.draft.motion.pace * wanted
        row = Row(direction="drive", value=driven - wanted, unit=kind(u), reaction="force", text=_WORK, level=m.level)
        self.hold(name, f"motion '{name}'", (Primitive(rows=(row,)),), active=m.active, drives=True)


def _laws(name: str, path: str, law: float | str | tuple[float | str, ...]) -> list[tuple[str, str, float | str]]:
    """Name, place in the file and law of every component."""
    names = components(name, law)
    if isinstance(law, tuple):
        return [(one, f"{path}[{k}]", part) for k, (one, part) in enumerate(zip(names, law, strict=True))]
    return [(name, path, law)]


def kind(unit: str) -> str:
    return "rad" if unit == "rad" else "m"
