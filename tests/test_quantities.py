"""Units in expressions: what does not fit is found and shows both units; what is not certain is no finding."""

from __future__ import annotations

from typing import Any

import pytest
from coupled_models import model, swinging, torque

from mbdfmu.errors import ModelError
from mbdfmu.expressions import parse
from mbdfmu.quantities import Quantity, Table, inferred, known
from mbdfmu.units import spelled, unit

UNITS = {
    "x": "m",
    "y": "m",
    "v": "m/s",
    "k": "N/m",
    "m": "kg",
    "phi": "rad",
    "w": "rad/s",
    "F": "N",
    "T": "N.m",
    "t1": "s",
}
TABLES = {"road": Table(known("m"), known("m")), "loose": Table(None, None)}


def unit_of(name: str) -> Quantity:
    return known(UNITS.get(name, ""))


def found(text: str) -> tuple[str, list[str]]:
    """The unit of an expression in words, and the findings."""
    quantity, problems = inferred(parse(text), unit_of, TABLES)
    words = spelled((*quantity, 0)) if isinstance(quantity, tuple) else str(quantity)
    return words.replace("None", "unknown"), [problem.message for problem in problems]


CERTAIN = {
    "x": "m", "-x": "m", "+v": "m/s", "k*x": "N", "k*(x - y)": "N", "m*v^2": "N.m", "v/x": "1/s", "F/k/x": "1",
    "sqrt(k/m)": "1/s", "sqrt(x^2 + y^2)": "m", "x^-1": "1/m", "abs(v)": "m/s", "min(x, y, 3)": "m", "phi*T": "N.m",
    "if(x < 1, F, 0)": "N", "step(x, 0, 0, y, F)": "N", "clamp(F, -3, 3)": "N", "F + k*x - 0": "N", "phi": "1",
    "1 + 2*3": "number", "pi/2": "number", "2^3": "number", "-(4)": "number", "hypot(x, y)": "m", "w*x - v": "m/s",
    "lookup(road, x)": "m", "x^0.5*y^0.5": "unknown", "mod(x, y)": "m", "havsin(t1, 0, x, 1, y)": "m", "w*t1": "1",
}  # fmt: skip
UNKNOWN = [
    "2*x", "x*0.5", "1/v", "sin(phi)", "sin(2*v)", "sin(no_unit)", "x + no_unit", "50*phi + x", "-w - 3*phi", "exp(x)",
    "x^no_unit", "x^y", "lookup(loose, x)", "x < y", "not x", "x > 0 and v > 0", "atan2(x, y)", "tanh(x)",
    "sqrt(x)", "m^0.3", "1 + x^2", "F + k*x - 2", "3*(x - 0.5)", "poly(x, 0, 1, 2)",
]  # fmt: skip
MISFITS = {
    "x + v": "a sum needs one unit, found m and m/s",
    "x - 3 + no_unit - F": "a sum needs one unit, found m and N",
    "3*x + (v - y)": "a sum needs one unit, found m/s and m",
    "min(x, F)": "min(values) needs one unit, found m and N",
    "if(x < v, 1, 2)": "a comparison needs one unit, found m and m/s",
    "if(x < y, F, T)": "if(values) needs one unit, found N and N.m",
    "step(x, t1, 0, 1, 1)": "step(x) needs one unit, found m and s",
    "step(x, 0, F, 1, T)": "step(y) needs one unit, found N and N.m",
    "cos(x)": "cos needs an angle in rad, found m; 1*(..) makes it one",
    "lookup(road, v)": "table 'road' is read at what is in m/s; its x_unit is m",
    "sqrt(x + F)": "a sum needs one unit, found m and N",
    "-(x + F)*3": "a sum needs one unit, found m and N",
    "impact(x, v, t1, 1e5, 1.5, 10, 0.1)": "impact(x) needs one unit, found m and s",
}


@pytest.mark.parametrize("text", CERTAIN)
def test_certain_units_are_inferred(text: str) -> None:
    assert found(text) == (CERTAIN[text], [])


@pytest.mark.parametrize("text", UNKNOWN)
def test_uncertain_units_stay_unknown(text: str) -> None:
    assert found(text) == ("unknown", [])


@pytest.mark.parametrize("text", MISFITS)
def test_misfits_show_both_units(text: str) -> None:
    assert found(text)[1] == [MISFITS[text]]


def test_a_misfit_is_reported_once_and_where_it_stands() -> None:
    _, problems = inferred(parse("2*y + (x + v)*k - 1"), unit_of, {})
    assert len(problems) == 1
    assert problems[0].position == "2*y + (x + v)*k - 1".index("v")


@pytest.mark.parametrize("text", ["", "N.m", "N/m", "1/s", "kg.m2", "m/s2", "kg.m/s", "V", "N.s/m", "m3", "s.A2"])
def test_units_are_spelled_as_users_write_them(text: str) -> None:
    assert spelled(unit(text).exponents) == (text or "1")


# ---------------------------------------------------------------- in models

SPRING = {"type": "translational", "i": {"body": "ground", "at": [0, 1]}, "j": {"body": "bar"}}
LENGTH = {"value": 0.3, "unit": "m"}

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a parameter": (
        {"parameters": {"l": LENGTH, "area": {"value": "l^3", "unit": "m2"}}},
        "parameters.area: 'l^3' is in m3, not in m2; correct it or what it names, or write 1*(..)",
    ),
    "a variable": (
        {"parameters": {"k": {"value": 3, "unit": "N/m"}}, "forces": {"s": SPRING},
         "variables": {"V": {"value": "s.length*k", "unit": "m"}}},
        "variables.V: 's.length*k' is in N, not in m",
    ),
    "a component of a list": (
        {"variables": {"V": {"value": ["bar.x", "bar.vx"], "unit": "m"}}},
        "variables.V[1]: 'bar.vx' is in m/s, not in m",
    ),
    "a sum": ({"variables": {"V": "bar.x + bar.vx"}}, "variables.V: a sum needs one unit, found m and m/s"),
    "the rate of a state": (
        {"states": {"X": {"rate": "bar.x", "unit": "m"}}},
        "states.X.rate: 'bar.x' is in m, not in m/s",
    ),
    "the equation of a state": (
        {"states": {"X": {"equation": "der(X) - bar.x", "unit": "m"}}},
        "states.X.equation: a sum needs one unit, found m/s and m",
    ),
    "the start of a state": (
        {"parameters": {"l": LENGTH}, "states": {"X": {"rate": 1, "start": "l", "unit": "s"}}},
        "states.X.start: 'l' is in m, not in s",
    ),
    "a field": (
        {"parameters": {"l": LENGTH}, "forces": {"s": {**SPRING, "stiffness": "l"}}},
        "forces.s.stiffness: 'l' is in m, not in N/m",
    ),
    "a torque": ({"forces": torque("bar.omega")}, "forces.motor.torque: 'bar.omega' is in 1/s, not in N.m"),
    "a marker": (
        {"parameters": {"a": {"value": 1, "unit": "s"}},
         "forces": {"s": {**SPRING, "i": {"body": "ground", "at": [0, "a"]}}}},
        "forces.s.i.at[1]: 'a' is in s, not in m",
    ),
    "a motion": (
        {"inputs": {"u": {"unit": "m"}}, "motions": {"d": {"of": "pin.angle", "value": "u", "level": "velocity"}}},
        "motions.d.value: 'u' is in m, not in rad/s",
    ),
    "the start of a joint": (
        {"parameters": {"l": LENGTH},
         "joints": {"pin": {"type": "revolute", "i": {"body": "ground"}, "j": {"body": "bar", "at": [-0.5, 0]},
                            "start": {"angle": "l"}}}},
        "joints.pin.start.angle: 'l' is in m, not in rad",
    ),
    "an output": (
        {"outputs": {"o": {"value": "bar.x*bar.vx", "unit": "m"}}},
        "outputs.o: 'bar.x*bar.vx' is in m2/s, not in m",
    ),
    "the sine of a length": ({"outputs": {"o": "sin(bar.x)"}}, "outputs.o: sin needs an angle in rad, found m"),
    "a table": (
        {"tables": {"t": {"x": [0, 1], "y": [0, 1], "x_unit": "m"}}, "outputs": {"o": "lookup(t, bar.phi)"}},
        "outputs.o: table 't' is read at what is in 1; its x_unit is m",
    ),
    "a constraint": (
        {"constraints": {"c": {"value": "bar.x*bar.y", "unit": "m"}}},
        "constraints.c: 'bar.x*bar.y' is in m2, not in m",
    ),
    "the input of a block": (
        {"blocks": {"g": {"type": "filter2", "input": "bar.x - bar.vx", "frequency": 1}}},
        "blocks.g.input: a sum needs one unit, found m and m/s",
    ),
    "the input of a filter": (
        {"blocks": {"g": {"type": "filter2", "input": "bar.x", "frequency": 1, "unit": "N"}}},
        "blocks.g.input: 'bar.x' is in m, not in N",
    ),
    "a limit": (
        {"parameters": {"l": LENGTH}, "blocks": {"g": {"type": "pid", "input": 1, "kp": 1, "max": "l", "unit": "N"}}},
        "blocks.g.max: 'l' is in m, not in N",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_expressions_in_wrong_units_are_findings(what: str) -> None:
    sections, finding = WRONG[what]
    with pytest.raises(ModelError) as caught:
        model(swinging(**sections)).compile()
    assert [p for p in caught.value.problems if p.startswith(finding)], caught.value.problems
    assert len(caught.value.problems) == 1


FINE: dict[str, dict[str, Any]] = {
    "gains without units": {"forces": torque("-20*pin.angle - bar.omega")},
    "a state without unit": {"states": {"X": {"rate": "bar.x"}}, "forces": torque("X + der(X)")},
    "a torque in joules": {"variables": {"V": {"value": "motor.torque", "unit": "J"}}, "forces": torque("1")},
    "an angle as a number": {"variables": {"V": {"value": "bar.phi*bar.x", "unit": "m"}}},
    "time as an angle": {"variables": {"V": {"value": "sin(time) + time", "unit": "m"}}},
    "a constraint without unit": {"constraints": {"c": "bar.x*bar.y"}},
    "an axis of any length": {
        "parameters": {"l": LENGTH},
        "forces": {"s": {**SPRING, "axis": ["l", 0]}},
    },
    "numbers that adopt units": {"outputs": {"o": "max(bar.x, 0.5)"}},
    "a number of another unit": {"parameters": {"l": LENGTH, "double": {"value": "2*l", "unit": "m2"}}},
}


@pytest.mark.parametrize("what", FINE)
def test_what_is_not_certain_is_no_finding(what: str) -> None:
    sections = FINE[what]
    model(swinging(**sections)).compile()


def test_units_count_inside_sub_models() -> None:
    part = swinging().to_data()
    whole = swinging(
        submodels={"part": {"model": part, "position": [1, 0]}}, variables={"V": {"value": "part.bar.x", "unit": "s"}}
    )
    with pytest.raises(ModelError, match=r"variables.V: 'part.bar.x' is in m, not in s"):
        model(whole).compile()
