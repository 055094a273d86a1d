"""Tables: curves through points against SciPy, derivatives, the native interpreter, files, sub-models, findings."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator

import mbdfmu as mbd
from mbdfmu import _solver
from mbdfmu import expressions as ex
from mbdfmu.analyses import CompiledModel, Settings
from mbdfmu.description import Description
from mbdfmu.errors import ModelError
from mbdfmu.expressions import Curve
from mbdfmu.expressions.opcodes import LOOKUP
from mbdfmu.lowering import lower
from mbdfmu.resolution import ANY
from mbdfmu.signals.draft import Context, Draft

ROUNDING = 1e-12  # of a few operations on numbers of order 1 to 100
X, Y = (-1.0, 0.0, 0.4, 1.5, 2.0, 4.0, 4.5), (0.3, 2.0, 1.0, 1.0, -3.0, 2.5, 2.6)
POINTS = np.linspace(-3, 6, 181)


def inside(curve: Curve) -> np.ndarray:
    low, high = curve.x[0], curve.x[-1]
    return POINTS[(low <= POINTS) & (high > POINTS)]


# ---------------------------------------------------------------- curves


@pytest.mark.parametrize("count", [3, 4, 5, 7])
def test_akima_is_that_of_scipy(count: int) -> None:
    curve = Curve(X[:count], Y[:count], "akima")
    at = inside(curve)
    theirs = Akima1DInterpolator(X[:count], Y[:count], method="akima")
    for order in range(4):
        np.testing.assert_allclose(curve.value(at, order), theirs(at, order), rtol=ROUNDING, atol=ROUNDING)


def test_linear_is_that_of_numpy() -> None:
    curve = Curve(X, Y)
    np.testing.assert_allclose(curve.value(POINTS), np.interp(POINTS, X, Y), rtol=ROUNDING, atol=ROUNDING)
    assert curve.value(np.array([0.0, 0.2, 0.4]), 1) == pytest.approx([-2.5, -2.5, 0.0])


@pytest.mark.parametrize("method", ["linear", "akima"])
def test_two_points_are_a_straight_line(method: str) -> None:
    curve = Curve((1.0, 3.0), (2.0, 6.0), method, "linear")  # type: ignore[arg-type]
    np.testing.assert_allclose(curve.value(POINTS), 2 * POINTS, atol=ROUNDING)


def test_points_of_a_straight_line_stay_one_in_spite_of_rounding() -> None:
    x = np.linspace(0.1, 0.7, 7)
    curve = Curve(tuple(x), tuple(x / 3), "akima")
    np.testing.assert_allclose(curve.value(inside(curve), 1), 1 / 3, rtol=1e-14)


@pytest.mark.parametrize("method", ["linear", "akima"])
def test_outside_values_are_held_or_continued(method: str) -> None:
    held, continued = (Curve(X, Y, method, kind) for kind in ("hold", "linear"))  # type: ignore[arg-type]
    for end, y, outside in ((X[0], Y[0], -7.0), (X[-1], Y[-1], 9.0)):
        assert held.value(outside) == y and held.value(outside, 1) == 0.0
        inward = end + np.sign(-outside) * 1e-9
        slope = continued.value(outside, 1)
        assert slope == pytest.approx(continued.value(inward, 1), rel=1e-6)  # of the distance from the end
        assert continued.value(outside) == pytest.approx(y + slope * (outside - end), rel=ROUNDING)
        assert continued.value(outside, 2) == continued.value(outside, 3) == 0.0


@pytest.mark.parametrize("extrapolate", ["hold", "linear"])
def test_akima_has_no_kinks_but_where_it_is_held(extrapolate: str) -> None:
    curve = Curve(X, Y, "akima", extrapolate)  # type: ignore[arg-type]
    knots = X[1:-1] if extrapolate == "hold" else X
    for knot in knots:
        for order in (0, 1):
            before, after = curve.value(np.array([np.nextafter(knot, -9), knot]), order)
            assert before == pytest.approx(after, abs=1e-12)


def test_the_graph_knows_equal_curves_and_differentiates_exactly() -> None:
    graph = ex.Graph()
    q = graph.symbol("q", "q")
    node = graph.lookup(Curve(X, Y, "akima"), ex.sin(q) * 3)
    assert node is graph.lookup(Curve(X, Y, "akima"), 3 * ex.sin(q)) and node is not graph.lookup(Curve(X, Y), 3 * q)
    values: dict[Any, Any] = {q: 0.3}
    for _ in range(4):
        slope = graph.diff(node, q)
        (exact,) = ex.evaluate([slope], values)
        (shifted,) = ex.evaluate([node], {q: 0.3 + 1e-200j})
        assert exact == pytest.approx(shifted.imag / 1e-200, rel=1e-12)
        node = slope
    straight = graph.lookup(Curve(X, Y), q)
    assert graph.diff(graph.diff(straight, q), q) is graph.zero
    assert graph.lookup(Curve(X, Y), 0.2).value == 1.5
    beyond = graph.lookup(Curve((0.0, 1.0), (0.0, 9.0), extrapolate="linear"), 1e308)
    assert beyond.op == LOOKUP and ex.evaluate([beyond], {}) == [np.inf]  # may stand in a branch never taken
    assert graph.substitute([straight], {q: 0.2})[0].value == 1.5


# ---------------------------------------------------------------- the native interpreter


def describe(**sections: Any) -> Description:
    table = {"x": X, "y": Y, "method": "akima", "extrapolate": "linear", "y_unit": "N"}
    parts: dict[str, Any] = {
        "tables": {"mu": table, "kinks": {"x": [0, 1, 2], "y": [0, 1, 0]}},
        "parameters": {"level": {"value": "lookup(mu, 0.7)", "unit": "N"}, "shift": {"value": 0.1}},
        "coordinates": {"s": {"unit": "m", "start": 0.3, "velocity": 1.0, "force": "-lookup(mu, 2*s) - kink*s"}},
        "mass": {"s": "2 + 0.1*lookup(mu, s)"},
    }
    parts["parameters"]["kink"] = {"value": "lookup(kinks, shift)"}
    return Description(**{"format_version": 1, "name": "sample", **parts, **sections})


def sections_of(blob: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, start of the data and count of every section."""
    at = 32
    for _ in range(struct.unpack_from("<I", blob, 12)[0]):
        name, kind, _, count = struct.unpack_from("<16sIIQ", blob, at)
        yield name.rstrip(b"\0").decode(), at + 32, count
        at += 32 + -(-count * (4, 8, 1)[kind] // 8) * 8


def patched(blob: bytes, section: str, index: int, value: float | int) -> bytes:
    """The blob with one number changed, and a checksum that fits."""
    data = bytearray(blob)
    place = next(at for name, at, _ in sections_of(blob) if name == section)
    if isinstance(value, int):
        struct.pack_into("<i", data, place + 4 * index, value)
    else:
        struct.pack_into("<d", data, place + 8 * index, value)
    struct.pack_into("<I", data, 24, zlib.crc32(data[32:]))
    return bytes(data)


def lookup_at(blob: bytes, program: str) -> int:
    """Where the last instruction that reads a curve begins: outputs come last."""
    place, count = next((at, count) for name, at, count in sections_of(blob) if name == f"{program}.ops")
    code = np.frombuffer(blob, dtype="<i4", count=count, offset=place).reshape(-1, 4)
    return 4 * int(np.flatnonzero(code[:, 0] == LOOKUP)[-1])


@pytest.mark.parametrize("order", range(4))
def test_native_derivatives_of_every_order(order: int) -> None:
    description = describe(outputs={"f": "lookup(mu, 3*time - 3)"})
    lowered = lower(description)
    assert "f" in lowered.signals
    blob = patched(lowered.blob, "signal.ops", lookup_at(lowered.blob, "signal") + 3, order)
    simulation = _solver.Simulation(_solver.System(blob), *Settings(step=0.01).native())
    simulation.start()
    names = list(lowered.signals)
    for t in (0.0, 0.4, 1.0, 1.33, 2.0, 2.9):
        simulation.advance(t)
        values = dict(zip(names, simulation.signals(), strict=True))
        assert values["f"] == description.tables["mu"].curve.value(3 * values["time"] - 3, order)  # to the bit


def test_native_jacobian_follows_the_curve() -> None:
    m = CompiledModel(lower(describe()))
    m.start()
    rng = np.random.default_rng(4)
    for _ in range(20):
        q, v, a = rng.uniform(-1, 2, (3, 1))
        step = 1e-6
        above, below = (m.residual(0, q + d, v, a, np.zeros(0)) for d in (step, -step))
        found = m.jacobian(0, q, v, a, np.zeros(0), (0, 0, 1)).toarray()[0, 0]
        # differences: eps/h + h^2 times derivatives of order 100
        assert found == pytest.approx((above - below)[0] / (2 * step), rel=1e-6, abs=1e-6)


def test_values_and_units_in_a_run_and_parameters() -> None:
    outputs = {"f": "lookup(mu, s)", "level_out": "level", "kink_out": "kink"}
    model = mbd.Model.from_description(describe(outputs=outputs))
    result = model.simulate(2.0, 0.1)
    curve = model.description.tables["mu"].curve
    assert result["f"] == pytest.approx(curve.value(result["s"]), abs=1e-14)
    assert result["level_out"] == pytest.approx(float(curve.value(0.7)))
    assert [s.unit for s in model.signals("f")] == ["N"]
    changed = model.simulate(0.1, parameters={"shift": 0.5})
    assert changed["kink_out"][0] == 0.5


DAMAGE = {
    "curve that is not there": ("signal.ops", lambda at: at + 2, 7, "reads a curve that is not there"),
    "negative curve": ("signal.ops", lambda at: at + 2, -1, "reads a curve that is not there"),
    "order": ("signal.ops", lambda at: at + 3, 4, "takes a derivative that curves do not have"),
    "negative order": ("signal.ops", lambda at: at + 3, -1, "takes a derivative that curves do not have"),
    "place": ("curves", lambda _: 0, 1 << 30, "a curve reads numbers that are not there"),
    "negative place": ("curves", lambda _: 0, -1, "a curve reads numbers that are not there"),
    "many knots": ("curves", lambda _: 1, 2**31 - 1, "a curve reads numbers that are not there"),
    "no knots": ("curves", lambda _: 1, 0, "a curve reads numbers that are not there"),
    "falling knots": ("curves.num", lambda _: 1, -9.0, "the knots of a curve do not increase"),
    "no number": ("curves.num", lambda _: 1, float("nan"), "the knots of a curve do not increase"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_curves_are_refused(case: str) -> None:
    section, place, value, message = DAMAGE[case]
    blob = lower(describe(outputs={"f": "lookup(mu, time)"})).blob
    with pytest.raises(_solver.NativeModelError, match=message):
        _solver.System(patched(blob, section, place(lookup_at(blob, "signal")), value))


# ---------------------------------------------------------------- files and findings


def test_a_file_keeps_its_tables() -> None:
    description = describe()
    again = Description.from_json(description.to_json())
    assert again == description and again.tables["mu"].curve == description.tables["mu"].curve
    assert json.loads(description.to_json())["tables"]["kinks"] == {"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 0.0]}


WRONG = {
    "one point": ({"x": [1], "y": [1]}, "tables.bad.x: must be a list of at least two numbers, found [1]"),
    "no list": ({"x": 1, "y": [1, 2]}, "tables.bad.x: must be a list of at least two numbers, found 1"),
    "text": ({"x": [0, "k"], "y": [1, 2]}, "tables.bad.x[1]: must be a number, found 'k'"),
    "falling": ({"x": [0, 2, 1], "y": [1, 2, 3]}, "tables.bad.x[2]: must be above the number before it, found 1.0"),
    "twice": ({"x": [0, 0], "y": [1, 2]}, "tables.bad.x[1]: must be above the number before it, found 0.0"),
    "lengths": ({"x": [0, 1], "y": [1, 2, 3]}, "tables.bad.y: must have as many numbers as x, found 3 for 2"),
    "method": ({"x": [0, 1], "y": [1, 2], "method": "cubic"}, "must be 'linear' or 'akima', found 'cubic'"),
    "steep": ({"x": [0, 1e-300], "y": [0, 1e300]}, "tables.bad: is too steep for finite slopes"),
    "infinite": ({"x": [0, 1], "y": [0, float("inf")]}, "tables.bad.y[1]: must be a finite number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_tables_are_named(case: str) -> None:
    table, message = WRONG[case]
    with pytest.raises(ModelError) as caught:
        describe(tables={"bad": table})
    assert any(problem.startswith("tables.bad") and message in problem for problem in caught.value.problems)


def test_a_name_of_a_table_is_reserved_for_it() -> None:
    with pytest.raises(ModelError, match="the name is taken"):
        describe(tables={"s": {"x": [0, 1], "y": [0, 1]}})
    with pytest.raises(ModelError, match=r"tables\.lookup: the name is reserved"):
        describe(tables={"lookup": {"x": [0, 1], "y": [0, 1]}})


UNKNOWN = {
    "lookup(kink, s)": "no table is called 'kink'; did you mean 'kinks'?; known: mu, kinks",
    "lookup(s, s)": "no table is called 's'",
    "mu*s": "nothing is called 'mu'",
    "lookup(mu, speed)": "nothing is called 'speed'",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_unknown_tables_are_named_with_the_place(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        mbd.Model.from_description(describe(outputs={"f": text})).simulate(0.1)
    (problem,) = caught.value.problems
    assert problem.startswith("outputs.f: ") and UNKNOWN[text] in problem and "^" in problem


def test_units_of_what_a_table_is_read_at_must_fit() -> None:
    tables = {"mu": {"x": [0, 1], "y": [0, 1], "x_unit": "m/s", "y_unit": "N"}, "kinks": {"x": [0, 1], "y": [0, 1]}}
    outputs = {"f": "lookup(mu, der(s))", "g": "lookup(mu, 2*s)", "h": "lookup(kinks, lookup(mu, time))"}
    with pytest.raises(ModelError) as caught:
        lower(describe(tables=tables, outputs=outputs))
    reason = "table 'mu' is read at what is in {}; its x_unit is m/s"
    found = [problem.partition("\n")[0] for problem in caught.value.problems]
    assert found == [f"outputs.h: {reason.format('s')}", f"mass.s: {reason.format('m')}"]


def test_what_leans_on_a_wrong_table_is_not_reported_twice(tmp_path: Path) -> None:
    data = describe(outputs={"f": "lookup(mu, s)", "g": "lookup(kinky, s)"}).to_data()
    data["tables"]["mu"]["x"][1] = "zero"
    file = tmp_path / "model.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ModelError) as caught:
        mbd.Model.load(file)
    places = [problem.split(": ")[1] for problem in caught.value.problems]
    assert places == ["tables.mu.x[1]", "outputs.g"]  # not the force, nor the other output


def test_recipes_of_forces_read_tables_by_name() -> None:
    draft = Draft(describe(), frozenset(), eliminate=True)
    context = Context(draft, "forces", "damper", ANY)
    speed = draft.graph.symbol("v", "s")
    assert context.table("mu")(speed) is draft.graph.lookup(draft.d.tables["mu"].curve, speed)
    assert not draft.problems
    assert context.table("kink")(speed) is draft.graph.zero
    assert draft.problems == ["forces.damper: no table is called 'kink'; did you mean 'kinks'?; known: mu, kinks"]


# ---------------------------------------------------------------- sub-models


def test_tables_of_submodels_get_their_prefix() -> None:
    inner = describe(outputs={"f": "lookup( mu , 2*s ) + lookup(kinks, s)"})
    outer = {
        "format_version": 1, "name": "outer", "tables": {"mu": {"x": [0, 1], "y": [5, 5]}},
        "submodels": {"a": {"model": inner.to_data()}, "b": {"model": inner.to_data(), "mirror": "x"}},
        "outputs": {"own": "lookup(mu, time) + lookup(a.mu, 0.7)"},
    }  # fmt: skip
    description = Description(**outer)
    flat = description.flat()
    assert set(flat.tables) == {"mu", "a.mu", "a.kinks", "b.mu", "b.kinks"}
    assert flat.outputs["a.f"].value == "lookup( a.mu , 2*a.s ) + lookup(a.kinks, a.s)"
    result = mbd.Model.from_description(description).simulate(0.2)
    alone = mbd.Model.from_description(inner).simulate(0.2)
    assert result["a.f"][-1] == pytest.approx(alone["f"][-1], rel=1e-6)  # steps differ
    assert result["own"][0] == pytest.approx(5 + float(flat.tables["a.mu"].curve.value(0.7)))
