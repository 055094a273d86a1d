"""What moves a model from outside and within: inputs, switches of time, states, variables, tables, blocks."""

from __future__ import annotations

from collections.abc import Callable

import mbdfmu.blocks  # noqa: F401  fills the family
from mbdfmu.description import Block
from search.fields import drawn
from search.joints import coordinates
from search.sketch import Sketch

Term = Callable[[Sketch], str | None]


def inputs(sketch: Sketch) -> None:
    """Lines between points, with a jump; the first value is the start value or not."""
    draw = sketch.draw
    for _ in range(draw.pick((0, 0, 1, 1, 2))):
        name = sketch.add("inputs", "u", {"start": draw.pick((0.0, draw.signed(0.2, 1.0)))})
        jump, corner = sorted((draw.number(0.1, 0.45), draw.number(0.55, 0.9)))
        times = [0.0, jump * sketch.end, jump * sketch.end, corner * sketch.end, sketch.end]
        values = [draw.signed(0.1, 1.0) for _ in times]
        if draw.chance(0.3):
            values[2] = values[1]  # a corner only
        if draw.chance(0.4):
            values[0] = sketch.section("inputs")[name]["start"]
        sketch.inputs[name] = times, values
        sketch.breaks += times


def states(sketch: Sketch) -> None:
    """Lags, integrals, and equations that hold a rate."""
    draw = sketch.draw
    for _ in range(draw.pick((0, 1, 1, 2))):
        name = f"x{len(sketch.section('states')) + 1}"
        source, lag = expression(sketch), draw.number(1.0, 15.0)
        start = draw.pick((0.0, draw.signed(0.1, 1.0)))
        if draw.chance(0.3):
            entry = {"equation": f"{1 / lag:.4g}*der({name}) + {name} - ({source})", "start": start}
        else:
            entry = {"rate": f"{lag}*({source} - {name})", "start": start}
        sketch.section("states")[name] = entry


def variables(sketch: Sketch) -> None:
    draw = sketch.draw
    if draw.chance(0.4):
        sketch.add("variables", "v", {"value": expression(sketch)})
    if draw.chance(0.2):
        name = f"v{len(sketch.section('variables')) + 1}"
        entry = {"equation": f"{name}^3 + 2*{name} - ({expression(sketch)})", "start": 0.1}
        sketch.section("variables")[name] = entry


def tables(sketch: Sketch) -> None:
    """Of time, which has corners, and of lengths."""
    draw = sketch.draw
    for _ in range(draw.pick((0, 0, 1))):
        x = sorted({draw.number(-0.6, 0.6) for _ in range(5)})
        y = [draw.signed(0.1, 2.0) for _ in x]
        method = draw.pick(("linear", "akima"))
        sketch.add("tables", "t", {"x": x, "y": y, "method": method, "extrapolate": draw.pick(("hold", "linear"))})


def blocks(sketch: Sketch) -> None:
    draw, members = sketch.draw, Block.members()
    for _ in range(draw.pick((0, 0, 0, 1))):
        kind = draw.pick(list(members))
        if kind == "state_space":
            size = draw.count(1, 2)
            A = [
                [-draw.number(1.0, 9.0) if r == c else draw.signed(0.1, 2.0) for c in range(size)] for r in range(size)
            ]
            fields = {"inputs": [expression(sketch)], "A": A, "B": [[draw.signed(0.3, 2.0)]] * size,
                      "C": [[draw.signed(0.3, 1.0)] * size]}  # fmt: skip
        elif kind == "transfer_function":
            fields = {"input": expression(sketch), "numerator": [draw.signed(0.5, 2.0)] * draw.count(1, 2),
                      "denominator": [draw.number(0.01, 0.05), draw.number(0.3, 1.0), 1.0]}  # fmt: skip
        elif kind == "pid":
            fields = {"input": expression(sketch), "kp": draw.signed(0.3, 2.0), "ki": draw.signed(0.3, 2.0)}
            if draw.chance(0.4):
                fields |= {"kd": 0.05, "filter_time": draw.number(0.02, 0.1)}
            if draw.chance(0.4):
                fields |= {"min": -0.5, "max": 0.5}
        else:
            fields = drawn(Block.named(kind), sketch, None, ("degree", "start"), input=expression(sketch))
        sketch.add("blocks", "k", {"type": kind, **fields})


# ---------------------------------------------------------------- expressions


def expression(sketch: Sketch, scale: float = 1.0) -> str:
    """One or two terms of about this size."""
    draw = sketch.draw
    terms: list[str] = []
    while len(terms) < draw.count(1, 2):
        found = draw.pick(TERMS)(sketch)
        if found is not None:
            terms.append(f"{draw.signed(0.3, 1.0) * scale:.4g}*{found}")
    return " + ".join(terms)


def effort(sketch: Sketch) -> Callable[[str], str]:
    """Forces and torques by expressions."""
    return lambda unit: expression(sketch, {"N": 4.0, "N.m": 1.0}[unit])


def _wave(sketch: Sketch) -> str:
    draw = sketch.draw
    return f"sin({draw.number(2.0, 15.0)}*time + {draw.number(0.0, 3.0)})"


def _place(sketch: Sketch) -> str:
    axis = sketch.draw.pick("xyz"[: sketch.dimensions])
    return f"d{axis}({sketch.draw.pick(sketch.bodies)})"


def _speed(sketch: Sketch) -> str:
    axis = sketch.draw.pick("xyz"[: sketch.dimensions])
    return f"tanh(v{axis}({sketch.draw.pick(sketch.bodies)}))"


def _spin(sketch: Sketch) -> str:
    return f"tanh(wz({sketch.draw.pick(sketch.bodies)})/3)"


def _joint(sketch: Sketch) -> str | None:
    free = coordinates(sketch)
    if not free:
        return None
    name = sketch.draw.pick(free)
    return f"sin({name})" if name.split(".")[1].startswith("angle") else name


def _within(section: str) -> Term:
    def term(sketch: Sketch) -> str | None:
        known = list(sketch.section(section))
        return sketch.draw.pick(known) if known else None

    return term


def _block(sketch: Sketch) -> str | None:
    known = [name for name, entry in sketch.section("blocks").items()]
    return f"tanh({sketch.draw.pick(known)}.y)" if known else None


def switch(sketch: Sketch) -> str:
    """A jump or kink at a time."""
    draw = sketch.draw
    t = draw.number(0.15, 0.85) * sketch.end
    sketch.breaks.append(t)
    return draw.pick((
        f"if(time < {t}, 1, -0.5)", f"if(time > {t}, 1, 0)", f"if(time <= {t}, 1, 0.2)", f"sign(time - {t})",
        f"max(0, time - {t})", f"abs(time - {t})", f"min(time, {t})",
        f"step(time, {t}, 0, {t} + {0.1 * sketch.end}, 1)",
        f"step(2*time, {2 * t}, 1, {2 * t} + {0.2 * sketch.end}, -1)",
    )) + _second(sketch, t)  # fmt: skip


def _second(sketch: Sketch, t: float) -> str:
    sketch.breaks.append(t + 0.1 * sketch.end)  # where a step ends
    return ""


def pulses(sketch: Sketch) -> str:
    """A switch that comes again."""
    draw = sketch.draw
    period, width = draw.number(0.05, 0.15), draw.number(0.2, 0.6)
    count = int(sketch.end / period) + 1
    sketch.breaks += [k * period for k in range(count)] + [(k + width) * period for k in range(count)]
    return f"if(mod(time, {period}) < {width * period:.6g}, 1, 0)"


def course(sketch: Sketch) -> str:
    """A table of time."""
    draw = sketch.draw
    x = sorted({round(draw.rng.uniform(0.05, 0.95) * sketch.end, 4) for _ in range(3)})
    x = [0.0, *x, sketch.end]
    name = sketch.add(
        "tables",
        "t",
        {
            "x": x,
            "y": [draw.signed(0.1, 1.0) for _ in x],
            "method": "linear" if sketch.plain else draw.pick(("linear", "akima")),
        },
    )
    sketch.breaks += x
    return f"lookup({name}, time)"


TERMS: tuple[Term, ...] = (
    _wave, _wave, _place, _speed, _spin, _joint, _within("inputs"), _within("inputs"), _within("states"),
    _within("variables"), _block, switch, switch, pulses, course,
)  # fmt: skip
