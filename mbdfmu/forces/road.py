"""The slope of a road below a wheel; must not know what the wheel does there."""

from __future__ import annotations

from typing import Any

from mbdfmu.expressions import Node
from mbdfmu.planar import Frame
from mbdfmu.vectors import Components


def slope(height: Node, i: Any, j: Any) -> Components:
    """How the height changes with the wheel's place: with that of the body of j, or against that of i."""
    graph, wheel, road = height.graph, _place(j), _place(i)
    if any(symbol in height.support for symbol in wheel):
        return tuple(graph.diff(height, symbol) for symbol in wheel)
    return tuple(-graph.diff(height, symbol) if symbol in height.support else graph.zero for symbol in road)


def _place(frame: Any) -> Components:
    """The coordinates of a frame's body."""
    if isinstance(frame, Frame):
        return tuple(frame.x.graph.symbol("q", f"{frame.body}.{k}") for k in "xy")
    return tuple(frame.pose.r)
