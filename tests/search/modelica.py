"""The Modelica text of a drawn model, read by two parsers and run by rumoca."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import rumoca
from numpy.typing import NDArray
from reference.modelica import TIGHT, exported, read

from mbdfmu.errors import ModelError
from mbdfmu.modelica.words import identifier
from search.case import POINTS, Case, Undecided
from search.independent import NotCovered
from search.motion import Motion, motion, recorded
from search.sketch import Points


def translated(case: Case) -> Motion:
    """What rumoca makes of the equations; what the text cannot say is not covered."""
    model, names = case.model, recorded(case.model)
    shown = [name for name in names if name not in model.description.outputs]
    with TemporaryDirectory() as folder:
        try:
            text = exported(model, Path(folder), signals=shown)
        except ModelError as error:
            raise NotCovered(str(error)) from None
    read(text)
    if leaps := [name for name in _leading(text) if _leaps(name, case)]:
        raise NotCovered(f"what follows inputs that jump lags behind them, as the text says: {leaps}")
    given = ", ".join(_driven(text, case.sample.inputs))
    text += f"\nmodel Driven\n  {identifier(model.name)} m({given});\nend Driven;\n"
    config = rumoca.SimConfig(rtol=TIGHT, atol=TIGHT / 10, solver="rk-like")
    end = case.sample.end
    driven = rumoca.Session().loads(text, model="Driven")
    try:
        result = driven.simulate(t=(0, end), dt=end / POINTS, config=config)
    except Exception as error:  # rumoca has no narrower one; the text itself it has taken
        raise Undecided(f"rumoca: {error}") from None
    columns = {name: _at(case, result, name) for name in names}
    return motion(model, columns, case.grid, case.grid, case.reference.events)


def _leading(text: str) -> list[str]:
    """Inputs that motions follow."""
    return [name for names in re.findall(r"lags behind (.+?):", text) for name in names.split(" and ")]


def _leaps(name: str, case: Case) -> bool:
    """On the way, or from what the start is computed with."""
    times, values = case.sample.inputs[name]
    begins = case.sample.data["inputs"][name].get("start", 0.0)
    corners = zip(pairwise(times), pairwise(values), strict=True)
    return values[0] != begins or any(b == a and u != v for (a, b), (u, v) in corners)


def _at(case: Case, result: object, name: str) -> NDArray[np.float64]:
    """A signal at the times of the grid."""
    found = np.interp(case.grid, result.time, result[f"m.{identifier(name)}"])  # type: ignore[attr-defined, index]
    return np.asarray(found)


def _driven(text: str, inputs: dict[str, Points]) -> list[str]:
    """Formulas of inputs, and of their rates where the text wants these too."""
    found = []
    for name, (times, values) in inputs.items():
        pieces = [(a, b, u, v) for (a, b), (u, v) in zip(pairwise(times), pairwise(values), strict=True) if b > a]
        lines = [(b, f"({u!r}) + ({(v - u) / (b - a)!r})*(time - {a!r})") for a, b, u, v in pieces]
        found.append(f"{identifier(name)}={_chosen(lines)}")
        if re.search(rf"(\binput \S+|\.RealInput) der_{identifier(name)}\b", text):
            slopes = [(b, f"({(v - u) / (b - a)!r})") for a, b, u, v in pieces]
            found.append(f"der_{identifier(name)}={_chosen(slopes)}")
    return found


def _chosen(pieces: list[tuple[float, str]]) -> str:
    """Each until its time."""
    *early, (_, last) = pieces
    return "".join(f"if time < {end!r} then {formula} else " for end, formula in early) + last
