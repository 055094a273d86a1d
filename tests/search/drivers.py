"""Motions, constraints by expressions, and coordinates of one's own."""

from __future__ import annotations

from mbdfmu.errors import ModelError, StepFailed
from search.joints import coordinates, freedoms
from search.signals import expression
from search.sketch import Sketch


def motions(sketch: Sketch) -> None:
    """At each level; a position begins where the coordinate is."""
    draw, free = sketch.draw, coordinates(sketch)
    if not free or not draw.chance(0.35):
        return
    of = draw.pick(free)
    now = sketch.now()
    level = "position" if sketch.plain else draw.pick(("position", "velocity", "acceleration"))
    wave = f"{draw.signed(0.1, 0.4)}*sin({draw.number(2.0, 8.0)}*time)"
    if level == "position":
        value = f"{now[of]!r} + {wave}"
    elif level == "velocity":
        value = draw.pick((f"{wave} + 0.5", f"{wave} - 0.3*{of}", *(f"0.4*{u}" for u in sketch.section("inputs"))))
    else:
        value = draw.pick((wave, f"{wave} - {of}_rate", *(f"1.5*{u}" for u in sketch.section("inputs"))))
    kept(sketch, "motions", "m", {"of": of, "value": value, "level": level})


def kept(sketch: Sketch, section: str, letter: str, element: dict[str, object]) -> None:
    """Added if it holds what nothing else does, and something can move then."""
    before = freedoms(sketch)
    name = sketch.add(section, letter, element)
    try:
        if 1 <= freedoms(sketch) < before:
            sketch.settle()
            return
    except (ModelError, StepFailed):
        pass
    del sketch.section(section)[name]


def constraints(sketch: Sketch) -> None:
    """A point of a body stays on a circle that it is on."""
    draw = sketch.draw
    if not draw.chance(0.12):
        return
    body = draw.pick(sketch.bodies)
    now = sketch.now()
    squares = " + ".join(
        f"({body}.{axis} - {now[f'{body}.{axis}'] - draw.number(0.2, 0.5)!r})^2" for axis in "xyz"[: sketch.dimensions]
    )
    size = sum((now[f"{body}.{axis}"] - float(part)) ** 2 for axis, part in _centres(squares))
    kept(sketch, "constraints", "c", {"value": f"sqrt({squares}) - {size**0.5!r}"})


def _centres(squares: str) -> list[tuple[str, str]]:
    """Axes and centres of `(b1.x - 0.3)^2 + ..`."""
    return [(term.split(" - ", 1)[0][-1], term.split(" - ", 1)[1].removesuffix(")^2")) for term in squares.split(" + ")]


def own_coordinates(sketch: Sketch) -> None:
    """A pendulum or oscillator beside the bodies, coupled to them by its force."""
    draw = sketch.draw
    if not draw.chance(0.15):
        return
    name = sketch.add("coordinates", "q", {"start": draw.signed(0.1, 0.8), "velocity": draw.signed(0.1, 1.0)})
    entry = sketch.section("coordinates")[name]
    entry["force"] = f"-{draw.number(5.0, 60.0)}*sin({name}) - 0.1*der({name}) + {expression(sketch)}"
    sketch.section("mass")[name] = draw.pick((draw.number(0.5, 2.0), f"1 + 0.3*cos({name})"))
