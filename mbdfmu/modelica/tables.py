"""Curves as Modelica: their numbers, and one function that reads them; must not know what is interpolated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mbdfmu.expressions import Curve
from mbdfmu.modelica.words import INDENT, Names, number, wrapped

FUNCTION = "alongCurve"
_TEXT = f'''\
  function {FUNCTION} "A curve by pieces of cubics, or a derivative of it"
    input Real x;
    input Real knots[:] "where a piece begins; the first piece holds before, the second from the first knot on";
    input Real pieces[:, 4] "c0 + c1 s + c2 s^2 + c3 s^3, s from the knot on";
    input Integer order "of the derivative";
    output Real y;
  protected
    Integer k;
    Real s;
  algorithm
    k := 1;
    for i in 1:size(knots, 1) loop
      if x >= knots[i] then
        k := i + 1;
      end if;
    end for;
    s := x - knots[if k > 1 then k - 1 else 1];
    if order == 0 then
      y := ((pieces[k, 4]*s + pieces[k, 3])*s + pieces[k, 2])*s + pieces[k, 1];
    elseif order == 1 then
      y := (3*pieces[k, 4]*s + 2*pieces[k, 3])*s + pieces[k, 2];
    elseif order == 2 then
      y := 6*pieces[k, 4]*s + 2*pieces[k, 3];
    else
      y := 6*pieces[k, 4];
    end if;
  end {FUNCTION};
'''


class Tables:
    """The curves of a model, as they are used."""

    def __init__(self, curves: Mapping[str, Curve], names: Names) -> None:
        self._given = {curve: name for name, curve in curves.items()}
        self._names = names
        self._used: dict[Curve, tuple[str, str]] = {}  # the names of its knots and pieces
        self._pieces: dict[tuple[str | float, ...], str] = {}  # variables, by argument and corners

    def call(self, curve: Curve, order: int, x: str, moment: bool) -> str:
        """The derivative of a curve at x; where x tells the moment, corners are events."""
        if curve not in self._used:
            name = self._given.get(curve, "curve")
            self._used[curve] = self._names.new(f"{name}_knots"), self._names.new(f"{name}_pieces")
        corners = curve.corners(order) if moment else []
        if corners and (x, *corners) not in self._pieces:
            self._pieces[(x, *corners)] = self._names.new(f"{self._given.get(curve, 'curve')}_piece")
        knots, pieces = self._used[curve]
        return f"{FUNCTION}({x}, {knots}, {pieces}, {order})"

    def function(self) -> Iterator[str]:
        """The function, if there is a curve."""
        if self._used:
            yield _TEXT

    def pieces(self) -> Iterator[tuple[str, str]]:
        """Variables that count the corners passed, with equations: what is inside of functions makes no events."""
        for (x, *corners), name in self._pieces.items():
            ways = " else".join(f"if {x} < {number(float(corner))} then {k}" for k, corner in enumerate(corners))
            yield name, f"{name} = {ways} else {len(corners)}"

    def constants(self) -> Iterator[str]:
        """The numbers of all curves."""
        for curve, (knots, pieces) in self._used.items():
            places = ", ".join(number(x) for x in curve.knots)
            yield wrapped(f"final constant Real {knots}[{len(curve.knots)}] = {{{places}}};")
            rows = [f"{{{', '.join(number(c) for c in row)}}}" for row in curve.pieces]
            head = f"{INDENT}final constant Real {pieces}[{len(rows)}, 4] = {{"
            yield "\n".join([head, *(f"{INDENT * 3}{row}," for row in rows[:-1]), f"{INDENT * 3}{rows[-1]}}};"])
