"""A model from a seed: ingredients one after the other, each tried on what is there."""

from __future__ import annotations

from collections import Counter

from mbdfmu.errors import ModelError, StepFailed
from search import drivers, events, forces, joints, signals
from search.drawing import Draw
from search.sketch import Sample, Sketch

ATTEMPTS = 30  # of whole models, where what was drawn cannot be assembled
INGREDIENTS = (
    joints.skeleton, signals.inputs, signals.tables, signals.states, signals.variables, signals.blocks, drivers.motions,
    drivers.constraints, drivers.own_coordinates, forces.forces, events.events, events.impacts,
)  # fmt: skip
PLAIN = (
    joints.skeleton, signals.inputs, signals.states, signals.variables, drivers.motions, forces.forces,
)  # fmt: skip
SHARE_OF_PLAIN = 0.4
SHORT = 0.75  # share of the runs in which little turns round
NUDGE = "nudge"
STARTS = {
    "bodies": ("position", "angle", "velocity", "omega"),
    "coordinates": ("start", "velocity"),
    "states": ("start",),
}
refused: Counter[str] = Counter()  # why models were drawn anew


def generated(seed: int) -> Sample:
    """The same for the same seed."""
    for attempt in range(ATTEMPTS):
        try:
            return _drawn(Draw(seed, attempt)).sample(seed)
        except (ModelError, StepFailed) as error:
            refused[str(error).split("\n")[0][:100]] += 1
    raise RuntimeError(f"seed {seed}: no model in {ATTEMPTS} attempts")


def _drawn(draw: Draw) -> Sketch:
    dimensions = draw.pick((2, 3))
    end = draw.number(0.25, 0.5) if draw.chance(SHORT) else draw.number(0.6, 1.5)
    sketch = Sketch(draw, dimensions, end=end)
    gravity = [0.0, -9.81, 0.0][:dimensions] if draw.chance(0.7) else sketch.vector(draw.point(dimensions, 8.0))
    sketch.data |= {"format_version": 1, "name": "drawn", "dimensions": dimensions, "gravity": gravity}
    sketch.plain = draw.chance(SHARE_OF_PLAIN)
    for ingredient in PLAIN if sketch.plain else INGREDIENTS:
        ingredient(sketch)
    sketch.settle()
    nudged(sketch)
    sketch.model().start()  # the start fits, to the last digits
    return sketch


def nudged(sketch: Sketch) -> None:
    """All start values move with a parameter, which tells how much small errors grow."""
    draw = sketch.draw
    sketch.section("parameters")[NUDGE] = 0.0

    def moved(value: float) -> str:
        return f"{float(value)!r} + {draw.signed(0.3, 1.0)}*{NUDGE}"

    for section, keys in STARTS.items():
        for entry in sketch.section(section).values():
            for key in keys:
                if isinstance(entry.get(key), list):
                    entry[key] = [moved(value) for value in entry[key]]
                elif key in entry:
                    entry[key] = moved(entry[key])
