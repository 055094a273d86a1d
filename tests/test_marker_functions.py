"""Functions of markers in expressions: formulas written out in NumPy, rates by differences, units, findings, parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import mbdfmu as mbd
from mbdfmu.description import Description
from mbdfmu.errors import ModelError
from mbdfmu.expressions import MARKER_FUNCTIONS, evaluate
from mbdfmu.signals import SymbolicModel, tabulate

Array = NDArray[np.float64]
ROUNDING = 1e-12  # of some tens of operations on numbers of order 1 to 10
STEP = 1e-4  # first differences of fourth order err by 1e-16, second ones by eps/STEP^2 = 2e-8
BY_DIFFERENCES = {1: 1e-9, 2: 1e-6}

TO, FROM, IN, REF = "tip", "base", "tilted", "rider"
MARKERS: dict[str, dict[str, Any]] = {
    "tip": {"body": "one", "at": [0.3, -0.2, 0.5], "orientation": {"axis": [1, 2, 3], "angle": 0.8}},
    "base": {"body": "two", "at": [-0.4, 0.1, 0.2], "orientation": {"axis": [-1, 0.5, 2], "angle": 1.9}},
    "tilted": {"body": "two", "at": [1, 1, 1], "orientation": {"axis": [0.2, -1, 0.4], "angle": -0.7}},
    "rider": {"body": "one", "at": [0, 0.7, 0], "orientation": {"axis": [1, 0, 1], "angle": 0.3}},
    "post": {"body": "ground", "at": [0.5, 0.6, -0.7], "orientation": {"axis": [0, 1, 1], "angle": 0.4}},
}
COMBINATIONS = [
    ("tip",), ("tip", "base"), ("tip", "base", "tilted"), ("tip", "base", "tilted", "rider"),
    ("one", "two", "post", "two"), ("post", "tip", "one", "base"), ("base", "ground", "ground", "tip"),
]  # fmt: skip


# ---------------------------------------------------------------- a motion, in space


class Motion:
    """Two bodies: r(t) and R(t) = R(0) exp(w t + alpha t^2/2), so that velocity and acceleration at t = 0 are known."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.bodies = {
            name: {key: rng.uniform(-1.5, 1.5, 3) for key in ("r", "v", "a", "w", "alpha", "turn")}
            for name in ("one", "two")
        }

    def pose(self, name: str, t: float) -> tuple[Array, Array]:
        """Origin and rotation matrix of a marker or body."""
        if name == "ground":
            return np.zeros(3), np.eye(3)
        if name in MARKERS:
            marker = MARKERS[name]
            p, R = self.pose(marker["body"], t)
            axis = np.array(marker["orientation"]["axis"], dtype=float)
            own = Rotation.from_rotvec(axis / np.linalg.norm(axis) * marker["orientation"]["angle"]).as_matrix()
            return p + R @ np.array(marker["at"]), R @ own
        b = self.bodies[name]
        R = Rotation.from_rotvec(b["turn"]) * Rotation.from_rotvec(b["w"] * t + b["alpha"] * t**2 / 2)
        return b["r"] + b["v"] * t + b["a"] * t**2 / 2, R.as_matrix()

    def symbols(self, model: SymbolicModel) -> dict[Any, float]:
        symbol, values = model.graph.symbol, {}
        for name, b in self.bodies.items():
            R = self.pose(name, 0.0)[1]
            x, y, z, w = Rotation.from_matrix(R).as_quat()
            values |= {symbol("q", f"{name}.e{k}"): e for k, e in enumerate((w, x, y, z))}
            values |= {symbol("r", f"{name}.r{i}{j}"): R[i, j] for i in range(3) for j in range(3)}
            for k, axis in enumerate("xyz"):
                values |= {symbol(s, f"{name}.{axis}"): b[key][k] for s, key in (("q", "r"), ("v", "v"), ("a", "a"))}
                values |= {symbol(s, f"{name}.theta_{axis}"): b[key][k] for s, key in (("v", "w"), ("a", "alpha"))}
        values |= {symbol("turn", w.name): 0.0 for w in model.windings}
        return values


def slope(f: Callable[[float], Array], order: int) -> Array:
    """Derivative at 0."""
    h = STEP if order == 1 else 10 * STEP
    if order == 1:
        return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)
    return (-f(2 * h) + 16 * f(h) - 30 * f(0.0) + 16 * f(-h) - f(-2 * h)) / (12 * h**2)


def in_frame(motion: Motion, frame: str, vector: Callable[[float], Array], order: int) -> Array:
    """A vector differentiated by an observer on a frame, in ground axes: its components there are differentiated."""
    R = motion.pose(frame, 0.0)[1]
    return R @ slope(lambda t: motion.pose(frame, t)[1].T @ vector(t), order)


def spin(motion: Motion, name: str, t: float) -> Array:
    """Angular velocity in ground axes, from the rotation matrix alone."""
    R = motion.pose(name, t)[1]
    W = slope(lambda s: motion.pose(name, t + s)[1], 1) @ R.T
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def wanted(motion: Motion, name: str, given: Mapping[str, str]) -> float:
    """Written from the definitions, for arguments by name."""
    to, base, axes, ref = (given.get(argument, "ground") for argument in ("to", "from", "in", "ref"))
    gap = lambda t: motion.pose(to, t)[0] - motion.pose(base, t)[0]  # noqa: E731
    relative = motion.pose(base, 0.0)[1].T @ motion.pose(to, 0.0)[1]
    vectors: dict[str, Callable[[], Array]] = {
        "d": lambda: gap(0.0),
        "v": lambda: in_frame(motion, ref, gap, 1),
        "acc": lambda: in_frame(motion, ref, gap, 2),
        "w": lambda: spin(motion, to, 0.0) - spin(motion, base, 0.0),
        "wdt": lambda: in_frame(motion, ref, lambda t: spin(motion, to, t) - spin(motion, base, t), 1),
    }
    if name == "vr":
        return float(slope(lambda t: np.array(np.linalg.norm(gap(t))), 1))
    if name in ("yaw", "pitch", "roll"):
        return float(Rotation.from_matrix(relative).as_euler("ZYX")[("yaw", "pitch", "roll").index(name)])
    if name in ("psi", "theta", "phi"):
        return float(Rotation.from_matrix(relative).as_euler("ZXZ")[("psi", "theta", "phi").index(name)])
    if name in ("ax", "ay", "az"):  # seen along the axis, where the other two axes do not turn
        k = "xyz".index(name[1])
        shown = {0: (-relative[1, 2], relative[2, 2]), 1: (relative[0, 2], relative[2, 2]),
                 2: (relative[1, 0], relative[0, 0])}[k]  # fmt: skip
        return float(np.arctan2(*shown))
    vector = vectors[name[:-1]]()
    if name.endswith("m"):
        return float(np.linalg.norm(vector))
    return float((motion.pose(axes, 0.0)[1].T @ vector)["xyz".index(name[-1])])


def describe(outputs: dict[str, Any], **sections: Any) -> Description:
    body = {"mass": 1, "inertia": [1, 2, 2.5], "free": True}
    bodies = {"one": body, "two": body}
    return Description(
        **{"format_version": 1, "name": "between", "dimensions": 3, "bodies": bodies, "markers": MARKERS,
           "outputs": outputs, **sections}
    )  # fmt: skip


def call(name: str, markers: tuple[str, ...]) -> str:
    return f"{name}({','.join(markers[: len(MARKER_FUNCTIONS[name].arguments)])})"


ORDER = {"v": 1, "acc": 2, "w": 1, "wdt": 2}


@pytest.mark.parametrize("markers", COMBINATIONS, ids=" ".join)
def test_values_in_space_are_those_of_their_definitions(markers: tuple[str, ...]) -> None:
    model = tabulate(describe({f"o_{name}": call(name, markers) for name in MARKER_FUNCTIONS}))
    for seed in range(3):
        motion = Motion(seed)
        values = motion.symbols(model)
        for name, function in MARKER_FUNCTIONS.items():
            (found,) = evaluate([model.signals[f"o_{name}"].node], values)
            expected = wanted(motion, name, dict(zip(function.arguments, markers, strict=False)))
            tolerance = BY_DIFFERENCES.get(ORDER.get(name[:-1], 0), ROUNDING)
            assert found == pytest.approx(expected, abs=tolerance * max(1.0, abs(expected))), name


@pytest.mark.parametrize("name", ["dm", "vm", "accm", "wm", "wdtm", "theta"])
def test_magnitudes_have_derivatives_where_they_are_zero(name: str) -> None:
    model = tabulate(describe({"o": f"{name}(one, two)"}))
    node = model.signals["o"].node
    motion = Motion(0)
    motion.bodies = {name: {key: np.zeros(3) for key in entries} for name, entries in motion.bodies.items()}
    values = motion.symbols(model)
    for symbol in node.support:
        assert np.isfinite(evaluate([model.graph.diff(node, symbol)], values)[0])


def test_a_marker_that_moves_in_its_body_is_seen_moving() -> None:
    turning = {"body": "ground", "at": ["2*time", "time^2", 0], "orientation": {"axis": [0, 0, 1], "angle": "3*time"}}
    outputs = {
        "v": "vx(turning)",
        "a": "accy(turning)",
        "w": "wz(turning)",
        "seen": "vy(tip, turning, turning, turning)",
    }
    model = tabulate(describe(outputs, markers={**MARKERS, "turning": turning}))
    motion = Motion(1)
    values = {**motion.symbols(model), model.graph.symbol("t", "time"): 0.0, model.graph.symbol("t", "pace"): 1.0}
    found = evaluate([model.signals[name].node for name in outputs], values)
    tip = motion.pose("tip", 0.0)[0]
    speed = slope(lambda t: motion.pose("tip", t)[0], 1)
    assert found[:3] == pytest.approx([2, 2, 3], abs=ROUNDING)
    assert found[3] == pytest.approx(speed[1] - 3 * tip[0], abs=1e-9)


def test_angles_about_an_axis_count_turns() -> None:
    wheel = {"mass": 1, "inertia": [1, 1, 1], "omega": [0, 0, 5]}
    joint = {"type": "revolute", "i": {"body": "ground"}, "j": {"body": "wheel"}, "axis": [0, 0, 1]}
    data = {
        "format_version": 1, "name": "wheel", "dimensions": 3, "bodies": {"wheel": wheel}, "joints": {"axle": joint},
        "markers": {"back": {"body": "ground", "orientation": {"axis": [0, 0, 1], "angle": "150*deg"}}},
        "motions": {"drive": {"of": "axle.angle", "value": "5*time"}},
        "outputs": {"turns": "az(wheel)", "late": "az(wheel, back)", "back_turns": "az(back, wheel)"},
    }  # fmt: skip
    result = mbd.Model.from_description(Description(**data)).simulate(5.0, 0.1)
    assert result["turns"] == pytest.approx(5 * result.time, abs=1e-8)
    assert result["late"] == pytest.approx(5 * result.time - 150 * np.pi / 180, abs=1e-8)
    assert result["back_turns"] == pytest.approx(150 * np.pi / 180 - 5 * result.time, abs=1e-8)


# ---------------------------------------------------------------- in the plane

PLANAR = [name for name, function in MARKER_FUNCTIONS.items() if function.planar]
FLAT = {
    "tip": {"body": "one", "at": [0.3, -0.2], "angle": 0.8},
    "base": {"body": "two", "at": [-0.4, 0.1], "angle": 1.9},
    "post": {"body": "ground", "at": [0.5, 0.6], "angle": -0.4},
}


class Flat(Motion):
    """The same in the plane."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.flat = {name: rng.uniform(-1.5, 1.5, (3, 3)) for name in ("one", "two")}  # x, y, phi; value, rates

    def pose(self, name: str, t: float) -> tuple[Array, Array]:
        if name == "ground":
            return np.zeros(3), np.eye(3)
        if name in FLAT:
            p, R = self.pose(FLAT[name]["body"], t)
            return p + R @ [*FLAT[name]["at"], 0], R @ Rotation.from_rotvec([0, 0, FLAT[name]["angle"]]).as_matrix()
        x, y, phi = self.flat[name] @ [1, t, t**2 / 2]
        return np.array([x, y, 0]), Rotation.from_rotvec([0, 0, phi]).as_matrix()

    def symbols(self, model: SymbolicModel) -> dict[Any, float]:
        return {
            model.graph.symbol(space, f"{name}.{key}"): rows[k][order]
            for name, rows in self.flat.items()
            for k, key in enumerate(("x", "y", "phi"))
            for order, space in enumerate("qva")
        }


@pytest.mark.parametrize(
    "markers", [("tip",), ("tip", "base", "post", "one"), ("post", "two", "base", "tip")], ids=" ".join
)
def test_values_in_the_plane_are_those_of_space(markers: tuple[str, ...]) -> None:
    body = {"mass": 1, "inertia": 1, "free": True}
    outputs = {f"o_{name}": call(name, markers) for name in PLANAR}
    data = {
        "format_version": 1,
        "name": "flat",
        "bodies": {"one": body, "two": body},
        "markers": FLAT,
        "outputs": outputs,
    }
    model = tabulate(Description(**data))
    for seed in range(3):
        motion = Flat(seed)
        values = motion.symbols(model)
        for name in PLANAR:
            (found,) = evaluate([model.signals[f"o_{name}"].node], values)
            expected = wanted(motion, name, dict(zip(MARKER_FUNCTIONS[name].arguments, markers, strict=False)))
            if name == "az":
                found = (found - expected + np.pi) % (2 * np.pi) - np.pi + expected  # counts turns
            tolerance = BY_DIFFERENCES.get(ORDER.get(name[:-1], 0), ROUNDING)
            assert found == pytest.approx(expected, abs=tolerance * max(1.0, abs(expected))), name


# ---------------------------------------------------------------- units, forces, findings


def test_units_are_known() -> None:
    outputs = {f"o_{name}": call(name, ("tip", "base")) for name in MARKER_FUNCTIONS}
    signals = tabulate(describe(outputs)).signals
    for name, function in MARKER_FUNCTIONS.items():
        assert signals[f"o_{name}"].unit == function.unit
    with pytest.raises(ModelError, match=r"outputs\.o: dx\(tip\) is in m, not in rad; leave the unit out"):
        tabulate(describe({"o": {"value": "dx(tip)", "unit": "rad"}}))


def test_a_spring_written_with_markers_is_that_of_the_element() -> None:
    def model(**sections: Any) -> mbd.Model:
        body = {"mass": 2, "inertia": 0.1, "position": [0.4, 0.3]}
        markers = {"eye": {"body": "bar", "at": [0.2, 0.1]}, "wall": {"body": "ground", "at": [1, 1]}}
        hinge = {"type": "revolute", "i": {"body": "ground"}, "j": {"body": "bar", "at": [-0.4, -0.3]}}
        data = {"format_version": 1, "name": "bar", "gravity": [0, -9.81], "bodies": {"bar": body}, "markers": markers}
        return mbd.Model.from_description(Description(**data, joints={"hinge": hinge}, **sections))

    spring = {"type": "translational", "i": "wall", "j": "eye"}
    element = model(forces={"spring": {**spring, "stiffness": 90, "damping": 3, "free_length": 0.5}})
    law = "90*(0.5 - dm(eye, wall)) - 3*vr(eye, wall)"
    written = model(forces={"spring": {**spring, "force": law}})
    a, b = (m.simulate(1.0, 0.1, tolerance=1e-8) for m in (element, written))
    assert a["bar.phi"] == pytest.approx(b["bar.phi"], abs=1e-9)  # kernel and program round differently


WRONG = {
    "dx()": "write dx(to,from,in), where all but the first may be left out, found 0",
    "dx(tip, base, post, one)": "write dx(to,from,in), where all but the first may be left out, found 4",
    "dx(tipp)": "no marker or body is named 'tipp'; did you mean 'tip'?",
    "dx(tip, 2)": "expected the name of a marker or body, found '2'; write dx(to,from,in)",
    "dx(tip + base)": "expected ')' or an operator, found '+'",
    "dxx(tip)": "unknown function 'dxx'; did you mean 'dx'?",
    "dx(tip": "'(' is never closed",
    "dx + 1": "nothing is called 'dx'",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_calls_are_named_with_the_place(text: str) -> None:
    with pytest.raises(ModelError) as caught:
        tabulate(describe({"o": text}))
    (problem,) = caught.value.problems
    assert problem.startswith("outputs.o") and WRONG[text] in problem and "^" in problem


def test_what_does_not_exist_in_the_plane_is_named() -> None:
    body = {"mass": 1, "inertia": 1, "free": True}
    data = {"format_version": 1, "name": "flat", "bodies": {"one": body}, "outputs": {"o": "dz(one)"}}
    with pytest.raises(ModelError, match="dz is for models in space; in the plane there are dx, dy, dm"):
        tabulate(Description(**data))


def test_places_that_must_not_move_do_not_depend_on_markers() -> None:
    with pytest.raises(ModelError, match=r"must not depend on where markers are, found dx\(tip\)"):
        tabulate(describe({}, parameters={"p": {"value": "dx(tip)"}}))
    with pytest.raises(ModelError, match=r"may depend on parameters, time only, found 'dx\(tip\)'"):
        tabulate(describe({}, motions={"m": {"of": "one.x", "value": "dx(tip)"}}))


def test_words_stay_free_for_other_things() -> None:
    """The names of these functions are common names of coordinates and parameters."""
    data = {
        "format_version": 1, "name": "free", "parameters": {"dx": {"value": 2}, "phi": {"value": 1}},
        "coordinates": {"theta": {"start": 0.5, "force": "-dx*theta*phi"}}, "mass": {"theta": 1},
    }  # fmt: skip
    assert mbd.Model.from_description(Description(**data)).simulate(0.1)["theta"][0] == 0.5


# ---------------------------------------------------------------- sub-models

SIGNED = [name for name, function in MARKER_FUNCTIONS.items() if function.kind != "sequence"]


def part(outputs: dict[str, Any]) -> dict[str, Any]:
    """A model whose bodies fly freely, so that a placed one does the same seen from its own place."""
    rng = np.random.default_rng(3)
    bodies = {
        name: {"mass": 1, "inertia": [1, 2, 2.5], "free": True, "position": list(rng.uniform(-1, 1, 3)),
               "velocity": list(rng.uniform(-1, 1, 3)), "omega": list(rng.uniform(-1, 1, 3)),
               "orientation": {"axis": [1, 2, -1], "angle": 0.4 if name == "one" else -0.9}}
        for name in ("one", "two")
    }  # fmt: skip
    return {
        "format_version": 1,
        "name": "part",
        "dimensions": 3,
        "bodies": bodies,
        "markers": MARKERS,
        "outputs": outputs,
    }


PLACES = {
    "moved": {"position": [1, -2, 3]},
    "turned": {"position": [1, 0, 0], "orientation": {"axis": [1, 1, -2], "angle": 0.7}},
    **{f"mirrored {n}": {"position": [0, 1, 0], "mirror": n} for n in "xyz"},
    "turned and mirrored": {"orientation": {"axis": [1, 1, -2], "angle": 0.7}, "mirror": "y"},
}


@pytest.mark.parametrize("place", PLACES)
def test_functions_of_a_placed_part_say_what_they_say_alone(place: str) -> None:
    outputs = {f"o_{name}": call(name, m) for name in SIGNED for m in [("tip", "base", "tilted", "rider")]}
    outputs |= {f"g_{name}": call(name, ("tip",)) for name in SIGNED}
    inner = part(outputs)
    alone = mbd.Model.from_description(Description(**inner)).simulate(0.4, 0.1, tolerance=1e-9)
    nested = {**inner, "bodies": {}, "markers": {}, "outputs": {}, "submodels": {"deep": {"model": inner}}}
    outer = {
        "format_version": 1, "name": "outer", "dimensions": 3,
        "submodels": {"part": {"model": inner, **PLACES[place]}, "nest": {"model": nested, **PLACES[place]}},
    }  # fmt: skip
    model = mbd.Model.from_description(Description(**outer))
    result = model.simulate(0.4, 0.1, tolerance=1e-9)
    for name in outputs:
        for full in (f"part.{name}", f"nest.deep.{name}"):
            # the error of a step, some times its tolerance of 1e-9, is not that of the other frame
            np.testing.assert_allclose(result[full], alone[name], atol=2e-6, err_msg=full)
            assert model.signals(full)[0].unit == MARKER_FUNCTIONS[name[2:]].unit


@pytest.mark.parametrize("mirror", [None, "x", "y"])
def test_functions_of_a_placed_part_in_the_plane_say_what_they_say_alone(mirror: str | None) -> None:
    body = {
        "mass": 1,
        "inertia": 1,
        "free": True,
        "position": [0.3, 0.8],
        "velocity": [1, -2],
        "angle": 0.4,
        "omega": 2,
    }
    outputs = {f"o_{name}": call(name, ("tip", "base", "post", "one")) for name in PLANAR}
    outputs |= {f"g_{name}": call(name, ("tip",)) for name in PLANAR}
    bodies = {"one": body, "two": {**body, "position": [-1, 0.2], "omega": -1}}
    inner = {"format_version": 1, "name": "flat", "bodies": bodies, "markers": FLAT, "outputs": outputs}
    place = {"position": [1, 2], "angle": 0.9, **({"mirror": mirror} if mirror else {})}
    outer = {"format_version": 1, "name": "outer", "submodels": {"p": {"model": inner, **place}}}
    alone, placed = (
        mbd.Model.from_description(Description(**data)).simulate(0.4, 0.1, tolerance=1e-9) for data in (inner, outer)
    )
    for name in outputs:
        np.testing.assert_allclose(placed[f"p.{name}"], alone[name], atol=1e-8, err_msg=name)


def test_what_a_mirror_would_change_in_no_simple_way_is_refused() -> None:
    inner = part({"o": "1 + psi(tip)"})
    outer = {"format_version": 1, "name": "outer", "dimensions": 3, "submodels": {"p": {"model": inner, "mirror": "y"}}}
    with pytest.raises(ModelError, match=r"psi\(to,from\)' have no simple meaning in a mirrored sub-model"):
        Description(**outer)


def test_external_bodies_are_no_places() -> None:
    inner = {**part({"o": "dx(tip, rim)"})}
    inner["bodies"] = {**inner["bodies"], "rim": {"external": True}}
    body = {"mass": 1, "inertia": [1, 1, 1], "free": True}
    outer = {"format_version": 1, "name": "outer", "dimensions": 3, "bodies": {"b": body},
             "submodels": {"p": {"model": inner, "attach": {"rim": "b"}}}}  # fmt: skip
    with pytest.raises(ModelError, match="use a marker on it"):
        Description(**outer)
