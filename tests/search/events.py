"""What occurs on the way: events that set, release, lock or restart, and impacts."""

from __future__ import annotations

from typing import Any

from search.joints import coordinates
from search.sketch import Sketch


def events(sketch: Sketch) -> None:
    draw = sketch.draw
    for _ in range(draw.pick((0, 0, 0, 1, 2))):
        does = draw.pick(("set", "set", "release", "lock", "restart"))
        effect = _effect(sketch, does)
        if effect:
            sketch.add("events", "e", {"when": _condition(sketch), **effect})


def _condition(sketch: Sketch) -> str:
    draw = sketch.draw
    if draw.chance(0.4):
        t = draw.number(0.2, 0.8) * sketch.end
        sketch.breaks.append(t)
        return f"time >= {t}"
    free, now = coordinates(sketch), sketch.now()
    signal = draw.pick([*free, *(f"{body}.{key}" for body in sketch.bodies for key in ("x", "y", "vx", "vy"))])
    sign = draw.pick(("<", ">"))
    distance = draw.number(0.02, 0.2) * (1 if sign == ">" else -1)
    return f"{signal} {sign} {now[signal] + distance!r}"


def _effect(sketch: Sketch, does: str) -> dict[str, Any]:
    draw = sketch.draw
    joints = [name for name, joint in sketch.section("joints").items() if "i" in joint]
    if does == "restart":
        return {"restart": True}
    if does == "set":
        states = [name for name, entry in sketch.section("states").items() if "rate" in entry]
        if not states:
            return {}
        state = draw.pick(states)
        return {"set": {state: draw.pick((f"{state} + {draw.signed(0.2, 1.0)}", f"-0.5*{state}"))}}
    driven = str(sketch.section("motions")) + str([j for j in sketch.section("joints").values() if "i" not in j])
    if does == "lock":  # what is driven, or moves with others, would be torn
        joints = [name for name in joints if f"{name}." not in driven]
    return {does: [draw.pick(joints)]} if joints else {}


def impacts(sketch: Sketch) -> None:
    """A floor below a body, which falls or not."""
    draw = sketch.draw
    if not draw.chance(0.15):
        return
    body, axis = draw.pick(sketch.bodies), draw.pick("xyz"[: sketch.dimensions])
    now = sketch.now()[f"{body}.{axis}"]
    gap = f"{body}.{axis} - {now - draw.number(0.02, 0.15)!r}"
    sketch.add("impacts", "h", {"gap": gap, "restitution": draw.number(0.2, 0.9)})
