"""Where a sub-model stands: what becomes of its points, directions and orientations; must not know names or elements.

A point p of the sub-model comes to lie at  origin + Q S p,  with a turn Q and a reflection S (1 where there is no
mirror). Every frame is reflected alike, R -> S R S, so that it stays right-handed: whatever is given in a frame that
moves along, such as a place on a body, is reflected by S too, and axes of rotation are reversed besides (-S).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from mbdfmu.description.parts import SEQUENCES, Orientation
from mbdfmu.description.scalars import (
    NO_TURN,
    Matrix,
    Scalar,
    Triple,
    about,
    composed,
    cosine,
    cross,
    dot,
    negated,
    of_quaternion,
    plus,
    root,
    sine,
    times,
    transposed,
    turned,
    unit,
)

Values = tuple[Scalar, ...]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The map from a sub-model's frame to that of the model around it; in the plane z is the normal."""

    origin: Triple = (0.0, 0.0, 0.0)
    turn: Matrix = NO_TURN
    orientation: Orientation | None = None  # the same turn
    angle: Scalar = 0.0  # of the turn, in the plane
    signs: tuple[float, float, float] = (1.0, 1.0, 1.0)  # S

    @classmethod
    def of(cls, position: Values, angle: Scalar, orientation: Orientation | None, mirror: str | None) -> Self:
        """From what a file says; `mirror` is the normal of the plane."""
        origin, turn = (*position, 0.0)[:3], about(2, angle) if orientation is None else matrix(orientation)
        x, y, z = (-1.0 if axis == mirror else 1.0 for axis in "xyz")
        return cls(origin=origin, turn=turn, orientation=orientation, angle=angle, signs=(x, y, z))  # type: ignore[arg-type]

    @property
    def mirrored(self) -> bool:
        return self.signs != (1.0, 1.0, 1.0)

    @property
    def is_turned(self) -> bool:
        return self.turn != NO_TURN

    # ---- what is given in frames that move along

    def reflected(self, v: Values) -> Values:
        """A place or direction in a frame of the sub-model."""
        return tuple(map(times, self.signs, v))

    def reversed(self, v: Values) -> Values:
        """An axis of rotation in a frame of the sub-model."""
        return tuple(map(negated, self.reflected(v))) if self.mirrored else v

    def tensor(self, entries: Values) -> Values:
        """S J S for xx yy zz xy xz yz."""
        x, y, z = self.signs
        return tuple(map(times, (1.0, 1.0, 1.0, x * y, x * z, y * z), entries))

    def turning(self, angle: Scalar) -> Scalar:
        """An angle in the plane."""
        return negated(angle) if self.mirrored else angle

    def facing(self, given: Orientation | None) -> Orientation | None:
        """S R S: the same form of the file, with signs."""
        if given is None or not self.mirrored:
            return given
        return Orientation(**self._form(given), within=self.facing(given.within))

    def _form(self, given: Orientation) -> dict[str, Any]:
        signs = tuple(-s for s in self.signs)  # a turn about the normal of the mirror stays, the others are reversed
        if given.quaternion is not None:
            return {"quaternion": (given.quaternion[0], *map(times, signs, given.quaternion[1:]))}
        if given.axis is not None:
            return {"axis": tuple(map(times, signs, given.axis)), "angle": given.angle}
        if given.angles is not None and given.sequence is not None:
            axes = dict(SEQUENCES[given.sequence])
            angles = tuple(times(signs[axes[k]], angle) for k, angle in enumerate(given.angles))
            return {"angles": angles, "sequence": given.sequence}
        if given.reverse is not None:
            return {"reverse": self.facing(given.reverse)}
        x, y = (self.reflected(axis or ()) for axis in (given.x, given.y))
        return {"x": tuple(times(self.signs[0], c) for c in x), "y": tuple(times(self.signs[1], c) for c in y)}

    # ---- what is given in the frame of the sub-model

    def point(self, p: Values) -> Values:
        """A point, with as many components as are given."""
        return tuple(map(plus, self.origin, self.direction(p)))[: len(p)]

    def direction(self, v: Values) -> Values:
        """A direction or velocity."""
        x, y, z = (*self.reflected(v), 0.0)[:3]
        return turned(self.turn, (x, y, z))[: len(v)] if self.is_turned else (x, y, z)[: len(v)]

    def pose(self, given: Orientation | None) -> Orientation | None:
        """An orientation."""
        return _inside(self.orientation, self.facing(given))

    def heading(self, angle: Scalar) -> Scalar:
        """An angle in the plane, from the sub-model's axes."""
        return plus(self.angle, self.turning(angle))

    def back(self, p: Triple, *, point: bool) -> Triple:
        """A point or direction of the outer frame, seen from the sub-model."""
        x, y, z = map(plus, p, map(negated, self.origin)) if point else p
        u, v, w = map(times, self.signs, turned(transposed(self.turn), (x, y, z)))
        return u, v, w

    def seen_from(self, position: Values, angle: Scalar, orientation: Orientation | None) -> Placement:
        """The same placement, told in the frame of a body with this pose."""
        body = Placement.of(position, angle, orientation, None)
        turn = composed(transposed(body.turn), self.turn)
        angle = plus(self.angle, negated(body.angle))
        back = None if orientation is None else Orientation(reverse=orientation)
        faced = _inside(back, self.orientation)
        return replace(self, origin=body.back(self.origin, point=True), turn=turn, orientation=faced, angle=angle)


def _inside(outer: Orientation | None, inner: Orientation | None) -> Orientation | None:
    """An orientation that is given in turned axes."""
    if outer is None or inner is None:
        return outer or inner
    return Orientation(**{**dict(inner), "within": _inside(outer, inner.within)})


def matrix(orientation: Orientation | None) -> Matrix:
    """The rotation matrix of an orientation."""
    if orientation is None:
        return NO_TURN
    return composed(matrix(orientation.within), _own_matrix(orientation))


def _own_matrix(orientation: Orientation) -> Matrix:
    if orientation.quaternion is not None:
        e0, x, y, z = orientation.quaternion
        return of_quaternion(e0, (x, y, z))
    if orientation.axis is not None and orientation.angle is not None:
        return _about_axis(orientation.axis, orientation.angle)
    if orientation.angles is not None and orientation.sequence is not None:
        angles = orientation.angles
        return composed(*(about(axis, angles[k]) for k, axis in SEQUENCES[orientation.sequence]))
    if orientation.reverse is not None:
        return transposed(matrix(orientation.reverse))
    return _of_directions(orientation)


def _about_axis(axis: Values, angle: Scalar) -> Matrix:
    x, y, z = axis
    half = times(0.5, angle)
    e0 = times(cosine(half), root(dot((x, y, z), (x, y, z))))
    return of_quaternion(e0, (times(sine(half), x), times(sine(half), y), times(sine(half), z)))


def _of_directions(orientation: Orientation) -> Matrix:
    x = unit(orientation.x)  # type: ignore[arg-type]
    z = unit(cross(x, orientation.y))  # type: ignore[arg-type]
    return transposed((x, cross(z, x), z))
