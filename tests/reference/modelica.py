"""Modelica text read by pymoca and run by rumoca, two independent compilers, beside our own simulation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pymoca.parser
import rumoca

import mbdfmu as mbd
from mbdfmu.expressions import evaluate
from mbdfmu.modelica.freedoms import freedoms
from mbdfmu.modelica.start import Start
from mbdfmu.modelica.words import identifier

POINTS = 20
ROUNDING = 1e-9  # SI: what is smaller on both sides is nothing but that
TIGHT = 1e-9  # relative tolerance of both sides
STILL = 1e-3  # of a signal's size: one that changes less counts as constant; of the largest in its unit: as that large


def read(text: str) -> None:
    """Both parsers take it."""
    rumoca.format(text)
    pymoca.parser.parse(text)


def exported(model: mbd.Model, folder: Path, style: str = "equations", **options: Any) -> str:
    path = model.export_modelica(folder / f"{identifier(model.name)}.mo", style, **options)
    return path.read_text(encoding="utf-8")


def ramps(model: mbd.Model) -> dict[str, tuple[float, float]]:
    """Start and slope of every input."""
    inputs = model.symbolic.inputs
    return {s.name: (float(s.start), 0.1 * (1 + k) * (1 + abs(s.start))) for k, s in enumerate(inputs)}


def driving(text: str, inputs: dict[str, tuple[float, float]]) -> dict[str, str]:
    """Formulas of the inputs that are ramps, and of their rates where the text wants these too."""
    found = {identifier(name): f"{start!r} + {slope!r}*time" for name, (start, slope) in inputs.items()}
    rates = {f"der_{identifier(name)}": repr(slope) for name, (_, slope) in inputs.items()}
    wanted = [name for name in rates if re.search(rf"(\binput \S+|\.RealInput) {name}\b", text)]
    return found | {name: rates[name] for name in wanted}


def simulated(
    text: str, name: str, end: float, inputs: dict[str, tuple[float, float]], *, solver: str = "rk-like",
    parameters: dict[str, float] | None = None, **options: Any,
) -> Any:  # fmt: skip
    """By rumoca; inputs are ramps of the model around ours, parameters are changed there."""
    changed = {identifier(name): repr(value) for name, value in (parameters or {}).items()}
    given = ", ".join(f"{name}={formula}" for name, formula in (driving(text, inputs) | changed).items())
    text += f"\nmodel Driven\n  {identifier(name)} m({given});\nend Driven;\n"
    roots = options.pop("roots", None)
    config = rumoca.SimConfig(rtol=TIGHT, atol=TIGHT / 10, solver=solver, **options)
    driven = rumoca.Session(roots=roots).loads(text, model="Driven")
    result = driven.simulate(t=(0, end), dt=end / POINTS, config=config)
    assert result.termination is None
    assert abs(result.time[-1] - end) <= 1e-9 * end
    return result


def deviations(
    model: mbd.Model, end: float, names: dict[str, str], theirs: Any, inputs: dict[str, tuple[float, float]],
    **settings: Any,
) -> dict[str, float]:  # fmt: skip
    """By signal, of which `names` has the name in Modelica: the largest difference, of the signal's range."""
    given = {name: ([0.0, end], [a, a + b * end]) for name, (a, b) in inputs.items()}
    settings = {"scheme": "dop853", "tolerance": TIGHT / 10, "record": list(names), "inputs": given or None, **settings}
    ours = model.simulate(end, end / POINTS, **settings)
    sizes = {name: scale(ours[name]) for name in names}
    largest: dict[str, float] = {}
    for name, size in sizes.items():
        largest[ours.unit(name)] = max(size, largest.get(ours.unit(name), 0.0))
    found = {}
    for name, size in sizes.items():
        other = np.interp(ours.time, theirs.time, theirs[names[name]])
        found[name] = float(np.max(np.abs(other - ours[name]))) / max(size, STILL * largest[ours.unit(name)], ROUNDING)
    return found


def scale(values: Any) -> float:
    """The range of a signal; of one that hardly moves its size."""
    spread, size = float(np.ptp(values)), float(np.max(np.abs(values)))
    return spread if spread > STILL * size else size


def compared(
    model: mbd.Model, end: float, folder: Path, signals: list[str] | None = None, *, within: float = 1e-5,
    **options: Any,
) -> None:  # fmt: skip
    """The text's coordinates and outputs are those of `simulate`, to 1e-5 of their range if nothing else is said."""
    assemble, solver = options.pop("assemble", None), options.pop("solver", "rk-like")
    parameters = options.get("parameters")
    chosen = signals if signals is not None else shown(model)
    text = exported(model, folder, assemble=assemble, signals=[n for n in chosen if n not in model.description.outputs])
    read(text)
    inputs = ramps(model)
    result = simulated(text, model.name, end, inputs, solver=solver, parameters=parameters)
    names = {name: f"m.{identifier(name)}" for name in chosen}
    found = deviations(model, end, names, result, inputs, assemble=assemble, **options)
    worst = max(found, key=found.__getitem__)
    assert found[worst] <= within, f"{worst} is off by {found[worst]:.1e} of its range"


def shown(model: mbd.Model) -> list[str]:
    """Outputs, and what moves: coordinates, speeds, states."""
    m = model.symbolic
    wanted = {("q", c.name) for c in m.coordinates} | {("x", s.name) for s in m.states}
    speeds = [c.rate for c in m.coordinates]
    moving = [s.name for s in m.signals.values() if s.node.value in wanted]
    return [*model.description.outputs, *moving, *speeds]


def free_places(model: mbd.Model, changed: dict[str, float]) -> dict[str, float]:
    """The coordinates that the text fixes at the start."""
    m = model.symbolic
    guesses = freedoms(m, Start.of(m, model.start()), ()).places
    numbers = {s.node: changed.get(s.name, s.start) for s in m.parameters}
    values = dict(zip((c.name for c in m.coordinates), evaluate(m.position_starts, numbers), strict=True))
    return {name: float(value) for name, value in values.items() if name not in guesses}
