"""What a name in an expression of a sub-model becomes in the model around it; must not know elements beyond their kind.

A sub-model behaves wherever it stands as it does alone: expressions see positions and velocities in its own frame, and
in a mirrored one the signs of the original. Signals whose meaning would be lost are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from mbdfmu.description.checks import GROUND, RESERVED
from mbdfmu.description.parts import Block, Body, Joint, Marker, Typed
from mbdfmu.description.placement import Placement
from mbdfmu.description.scalars import Scalar, Triple, negated, plus
from mbdfmu.description.values import DOTTED
from mbdfmu.errors import ExpressionError
from mbdfmu.expressions import MarkerFunction, Name, lookups, names, parse, take_apart

_POINT, _MOVING = ("x", "y", "z"), (("vx", "vy", "vz"), ("ax", "ay", "az"))
_OWN_AXES = ("omega_", "alpha_")  # components in body axes
_DER = re.compile(r"der[ \t\r\n]*\([ \t\r\n]*")
_EVEN = ("energy", "power")
_REACTION = re.compile(r"(force|torque)\.([xyz])")  # of a joint in space, in the axes of its frame i
_SIGNAL = rf"[(-]*({DOTTED})\)*"  # one, with at most signs before it
_UNITS = {  # of bodies, markers and joints, by the end of the name
    r"[xyz]": "m",
    r"v[xyz]": "m/s",
    r"a[xyz]": "m/s2",
    r"phi|roll|pitch|yaw": "rad",
    r"omega(_[xyz])?": "rad/s",
    r"alpha(_[xyz])?": "rad/s2",
    r"(angle|lean)(_\w)?": "rad",
    r"(angle|lean)(_\w)?_rate": "rad/s",
    r"displacement(_\w)?": "m",
    r"displacement(_\w)?_rate": "m/s",
}


class Seen:
    """The names of one sub-model."""

    def __init__(self, part: str, elements: Mapping[str, Any], placement: Placement, dimensions: int) -> None:
        self.part, self.elements, self.placement, self.dimensions = part, elements, placement, dimensions
        self.uses_ground = False  # whether an expression needs a marker where the sub-model's ground is

    def unit(self, text: str) -> str | None:
        """The unit of a signal of bodies, markers, joints, or of a function, which a shift or a turn no longer shows.

        What forces measure keeps its name, at most with a minus, and with that its unit.
        """
        signal = re.fullmatch(_SIGNAL, text)
        if signal is None:
            root = parse(text).root
            found = take_apart(root.name) if isinstance(root, Name) else None
            return found[0].unit if found else None
        owner, suffix = self._owner(signal[1])
        if not isinstance(self.elements.get(owner), Body | Marker | Joint):
            return None
        last = suffix.removesuffix(".start")
        return next((unit for pattern, unit in _UNITS.items() if re.fullmatch(pattern, last)), None)

    def formula(self, text: str) -> str:
        """An expression with the names of the model around."""
        pieces, done = [], 0
        for start, end, new in self._changes(text):
            pieces += [text[done:start], new]
            done = end
        return "".join([*pieces, text[done:]])

    def _changes(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Places of the text and what they become, in order."""
        tree = parse(text)
        changes = [(start, name, self._name) for name, start in names(tree)]
        changes += [(call.table.position, call.table.name, self._table) for call in lookups(tree)]
        for start, name, change in sorted(changes, key=lambda found: found[0]):
            try:
                yield change(text, start, name)
            except ExpressionError as error:
                raise ExpressionError(error.message, text, start) from None

    def _table(self, text: str, start: int, name: str) -> tuple[int, int, str]:
        return start, start + len(name), f"{self.part}.{name}"

    def _name(self, text: str, start: int, name: str) -> tuple[int, int, str]:
        derivative = _DER.match(text, start) if name.startswith("der(") else None
        if derivative:
            found = re.compile(DOTTED).match(text, derivative.end())
            assert found is not None  # the parser has read it
            return found.start(), found.end(), f"{self.part}.{found[0]}"
        if function := take_apart(name):
            return start, text.index(")", start) + 1, self._between(*function)
        return start, start + len(name), self.signal(name)

    # ---- functions of markers

    def _between(self, function: MarkerFunction, markers: list[str]) -> str:
        """The ground of a sub-model that is moved is a marker of its own, so that all arguments are written out."""
        given = list(function.complete(markers).values()) if self._moved else markers
        call = f"{function.name}({', '.join(map(self._frame, given))})"
        sign = self._sign_between(function) if self.placement.mirrored else 1.0
        return call if sign > 0 else f"({negated(call)})"

    def _frame(self, name: str) -> str:
        if name == GROUND:
            self.uses_ground = self.uses_ground or self._moved
            return f"{self.part}.{GROUND}" if self._moved else GROUND
        element = self.elements.get(name)
        if isinstance(element, Body) and element.external:
            self._refuse(name, "of an external body have no place of their own; use a marker on it")
        return f"{self.part}.{name}"

    def _sign_between(self, function: MarkerFunction) -> float:
        """Frames are reflected as their bodies are: vectors change with the axis, angles and turns the other way."""
        if function.kind == "sequence":
            self._refuse(function.call, "have no simple meaning in a mirrored sub-model; use yaw, pitch and roll")
        if function.kind == "scalar":
            return 1.0
        sign = self.placement.signs[_POINT.index(function.axis)]
        return sign if function.kind == "vector" else -sign

    @property
    def _moved(self) -> bool:
        return self.placement.mirrored or self.placement.is_turned or any(self.placement.origin)

    def signal(self, name: str) -> str:
        """One name."""
        if name.partition(".")[0] in RESERVED:
            return name
        owner, suffix = self._owner(name)
        element = self.elements.get(owner)
        if isinstance(element, Body) and element.external:
            self._refuse(name, "of an external body have no place of their own; use a marker on it")
        if isinstance(element, Body | Marker) and suffix:
            return self._of_frame(name, suffix, isinstance(element, Body))
        if isinstance(element, Typed) and not isinstance(element, Block) and suffix and self.placement.mirrored:
            return _text(signed(f"{self.part}.{name}", self.sign(owner, suffix)))
        return f"{self.part}.{name}"

    def _owner(self, name: str) -> tuple[str, str]:
        """The element that a signal belongs to, and the rest of its name."""
        words = name.split(".")
        for k in range(len(words), 0, -1):
            if ".".join(words[:k]) in self.elements:
                return ".".join(words[:k]), ".".join(words[k:])
        return name, ""

    def _refuse(self, name: str, reason: str) -> NoReturn:
        raise ExpressionError(f"signals such as {name!r} {reason}")

    # ---- joints and forces

    def sign(self, owner: str, suffix: str) -> float:
        """What a mirror does to a coordinate of a joint or a signal of a force."""
        element, base = self.elements[owner], suffix.removesuffix("_rate")
        parity = "even" if base in _EVEN else element.parity.get(self.dimensions, {}).get(base)
        reaction = _REACTION.fullmatch(base)
        if reaction and self.dimensions == 3 and parity is None:
            sign = self.placement.signs[_POINT.index(reaction[2])]
            return -sign if reaction[1] == "torque" else sign
        if parity is None:
            self._refuse(f"{owner}.{suffix}", "have no known sign in a mirrored sub-model; leave them out")
        axis = parity.removeprefix("-")  # "-x": of a rotation about x
        if axis in _POINT:
            sign = self.placement.signs[_POINT.index(axis)]
            return sign if axis == parity else -sign
        return -1.0 if parity == "odd" else 1.0

    # ---- bodies and markers

    def _of_frame(self, name: str, suffix: str, is_body: bool) -> str:
        place = self.placement
        if not self._moved:
            return f"{self.part}.{name}"
        plain, start = (name.removesuffix(".start"), ".start") if suffix.endswith(".start") else (name, "")
        head, _, last = plain.rpartition(".")

        def full(signal: str) -> str:
            return f"{self.part}.{head}.{signal}{start}"

        for group in (_POINT, *_MOVING):
            if last in group[: self.dimensions]:
                return self._component(group, last, full)
        if not place.mirrored and not place.is_turned:
            return full(last)
        seen = self._planar(last, full) if self.dimensions == 2 else self._turning(last, full) if is_body else None
        if seen is None:
            self._refuse(name, "have no simple meaning in a turned or mirrored sub-model; leave them out")
        return _text(seen)

    def _component(self, group: tuple[str, ...], last: str, full: Callable[[str], str]) -> str:
        x, y, z = (full(signal) if k < self.dimensions else 0.0 for k, signal in enumerate(group))
        seen: Triple = self.placement.back((x, y, z), point=group is _POINT)
        return _text(seen[group.index(last)])

    def _planar(self, last: str, full: Callable[[str], str]) -> Scalar | None:
        if last == "phi":
            return self.placement.turning(plus(full(last), negated(self.placement.angle)))
        return self.placement.turning(full(last)) if last in ("omega", "alpha") else None

    def _turning(self, last: str, full: Callable[[str], str]) -> Scalar | None:
        """Components in body axes; angles and quaternions are those to the ground and need an unturned one."""
        signs = [-s if self.placement.mirrored else 1.0 for s in self.placement.signs]
        axes = [f"{own}{k}" for own in _OWN_AXES for k in _POINT]
        if not self.placement.is_turned:
            axes += ["roll", "pitch", "yaw", "e1", "e2", "e3"]
        if last in axes:
            return signed(full(last), signs[axes.index(last) % 3])
        return full(last) if last == "e0" and not self.placement.is_turned else None


def signed(text: str, sign: float) -> Scalar:
    return text if sign > 0 else negated(text)


def _text(seen: Scalar) -> str:
    """An operand: in parentheses, unless it is a name."""
    return str(seen) if isinstance(seen, str) and re.fullmatch(DOTTED, seen) else f"({seen})"
