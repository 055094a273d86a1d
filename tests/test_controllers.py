"""Controllers: one law as numbers and as expressions, running instances, and twins inside models."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from controller_variants import VARIANTS, variant

import mbdfmu as mbd
from mbdfmu.controllers import Controller, Law, Memory, Port, State, tunable
from mbdfmu.controllers.functions import Symbol, text_of
from mbdfmu.expressions import Graph, build, evaluate, parse

load = mbd.controllers.load


def values_for(controller: Controller, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """States with memory, and inputs, somewhere around where they are at work."""
    rng = random.Random(seed)
    x = {name: rng.uniform(-2, 2) * 10 ** rng.randint(-1, 3) for name in controller.states}
    for name, memory in controller.memory.items():
        x[name] = float(rng.randint(1, len(memory.phases))) if memory.phases else rng.uniform(0, 2000)
    u = {name: rng.uniform(-1.2, 1.2) * 10 ** rng.randint(0, 3) for name in controller.inputs}
    return x, u


def value_of(text: str, numbers: Mapping[str, float]) -> float:
    """An expression of the model language, computed by it."""
    graph = Graph()
    node = build(parse(text), graph, lambda name: graph.const(numbers[name]))
    return float(evaluate([node], {})[0])


# ---------------------------------------------------------------- the law, twice


@pytest.mark.parametrize("key", VARIANTS)
def test_a_law_written_down_says_what_it_computes(key: str) -> None:
    controller = variant(key)
    parameters = {name: p.value for name, p in controller.parameters.items()}
    named = {name: name.replace("[", "_").replace(",", "_").replace("]", "") for name in parameters}
    symbolic = controller.with_parameters({name: Symbol(text) for name, text in named.items()})
    for seed in range(40):
        x, u = values_for(controller, seed)
        numbers = {**{named[name]: value for name, value in parameters.items()}, **x, **u}
        found = controller.law(x, u)
        written = symbolic.law({name: Symbol(name) for name in x}, {name: Symbol(name) for name in u})
        for part in ("outputs", "rates", "memory"):
            expected, texts = getattr(found, part), getattr(written, part)
            assert list(expected) == list(texts)
            for name in expected:
                value = value_of(text_of(texts[name]), numbers)
                assert value == pytest.approx(expected[name], rel=1e-12, abs=1e-12)  # a few roundings


@pytest.mark.parametrize("key", [key for key in VARIANTS if not variant(key).sampled])
def test_a_controller_alone_is_a_model(key: str) -> None:
    controller = variant(key)
    _, u = values_for(controller, 1)
    simulation, running = controller.model().start(), controller.start()
    for name, value in u.items():
        simulation[name] = running[name] = value
    for name in controller.outputs:
        assert simulation[name] == pytest.approx(running[name], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("key", [key for key in VARIANTS if variant(key).states and not variant(key).sampled])
def test_a_running_controller_integrates_what_the_model_does(key: str) -> None:
    controller = variant(key)
    _, u = values_for(controller, 2)
    running = controller.start()
    for name, value in u.items():
        running[name] = value
    for _ in range(5):
        running.step(0.01)
    result = controller.model().simulate(0.05, 0.05, inputs=lambda t: u, tolerance=1e-11)
    for name in [*controller.outputs, *controller.states]:
        scale = max(1.0, abs(float(result[name][-1])))
        assert running[name] == pytest.approx(float(result[name][-1]), abs=1e-6 * scale)  # 20 steps a time constant


# ---------------------------------------------------------------- samples


@dataclass(frozen=True, kw_only=True)
class Counter(Controller, name="test_counter"):
    """Counts its samples and sums up its input: what samples do is seen as it is."""

    gain: float = tunable(1.0, "", "of the output", low=0.0, high=10.0)

    inputs: ClassVar[Any] = {"u": Port(unit="m", start=1.0)}
    outputs: ClassVar[Any] = {"y": Port(start=-1.0), "sum": Port()}
    states: ClassVar[Any] = {"total": State()}
    memory: ClassVar[Any] = {"count": Memory()}

    def law(self, x: Any, u: Any) -> Law:
        count = x["count"] + 1
        return Law({"y": self.gain * u["u"], "sum": x["total"]}, {"total": u["u"]}, {"count": count})


def counter(**given: float) -> Any:
    return Counter(**{"sample_time": 0.01, **given}).start()


def test_a_sample_at_a_communication_point_sees_the_inputs_that_are_set_there() -> None:
    c = counter()
    assert c["y"] == 1.0 and c["count"] == 1
    c["u"] = 2.0
    assert c["y"] == 2.0 and c["count"] == 1  # the same sample, once more
    c.step(0.004)
    c["u"] = 3.0
    assert c["y"] == 2.0 and c["count"] == 1  # between samples outputs hold
    c.step(0.006)
    assert c["y"] == 3.0 and c["count"] == 2
    assert c["sum"] == pytest.approx(0.02)  # the forward rule with the input at the first sample


def test_samples_within_a_step_see_held_inputs() -> None:
    c = counter()
    c["u"] = 2.0
    c.step(0.035)
    c["u"] = 5.0
    assert c["y"] == 2.0 and c["count"] == 4  # at 0, 0.01, 0.02, 0.03
    c.step(0.005)
    assert c["y"] == 5.0 and c["count"] == 5


@pytest.mark.parametrize("size", [0.01, 0.0025, 1 / 3, 0.001, 0.1])
def test_samples_are_counted_and_do_not_drift(size: float) -> None:
    c = counter()
    steps = round(3 / size)
    for _ in range(steps):
        c.step(size)
    # At the end, 3 s, is a sample too; steps of 1 ms have missed that time by some 1e-13 s.
    assert c["count"] == 301
    assert c.time == pytest.approx(3.0, abs=1e-9)


def test_masters_that_add_up_steps_far_from_zero_meet_every_sample() -> None:
    c = counter(sample_time=0.005)
    c = c.controller.start(at=1e6)
    late = 0
    for k in range(5000):
        c["u"] = float(k)
        late += k % 5 == 0 and c["y"] != k  # the sample is at the point, so it sees the input
        c.step(0.001)
    assert late == 0 and c["count"] == 1001


def test_outputs_appear_after_the_delay() -> None:
    c = counter(delay=0.025)
    assert c["y"] == -1.0  # its start value, before anything has appeared
    seen = []
    for k in range(8):
        c["u"] = float(k)
        c.step(0.005)
        seen.append(c["y"])
    # Samples at 0, 10, 20, 30 ms see 0, 2, 4, 6; they appear at 25, 35, .. ms.
    assert seen == [-1, -1, -1, -1, 0, 0, 2, 2]


def test_a_delay_may_be_as_long_as_several_samples() -> None:
    one, two = counter(delay=0.055), counter(delay=0.055)
    for c, size in ((one, 0.1), (two, 0.0125)):
        for _ in range(round(0.1 / size)):
            c.step(size)
    assert one["y"] == two["y"] == 1.0
    assert one["sum"] == pytest.approx(two["sum"]) == pytest.approx(0.04)


@pytest.mark.parametrize("key", VARIANTS)
@pytest.mark.parametrize("more", [{}, {"sample_time": 0.004, "delay": 0.009}])
def test_a_restored_controller_continues_bit_for_bit(key: str, more: dict[str, float]) -> None:
    c = variant(key, **more).start(at=2.0)
    rng = random.Random(3)

    def run(steps: int) -> list[float]:
        found = []
        for _ in range(steps):
            for name in c.controller.inputs:
                c[name] = rng.uniform(-1, 1)
            c.step(rng.uniform(1e-3, 1e-2))
            found += [c[name] for name in (*c.controller.outputs, *c.controller.states, *c.controller.memory, "time")]
        return found

    run(5)
    state, seed = c.save(), rng.getstate()
    first = run(10)
    c.restore(state)
    rng.setstate(seed)
    assert run(10) == first


def test_a_tunable_parameter_acts_at_once() -> None:
    c = load("skyhook").start()
    c["body_speed"] = 1.0
    c["gain"] = 500.0
    assert c["force"] == -500.0


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gain": -1}, "controller 'skyhook': gain must be at least 0, found -1"),
        ({"gain": math.nan}, "gain must be a finite number, found nan"),
        ({"gain": "much"}, "gain must be a number, found 'much'"),
        ({"gain": None}, "gain must be a number, found None"),
        ({"gian": 1}, "has no parameter 'gian'; did you mean 'gain'"),
        ({"delay": 0.1}, "delay = 0.1 s belongs to samples; give sample_time too"),
        ({"lag": 0.01, "sample_time": 0.03}, "more than twice the shortest time constant of 0.01 s"),
        ({"lag": 0.0}, "lag must be at least 1e-06, found 0"),
    ],
)
def test_what_no_controller_can_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(mbd.ModelError, match=said.replace("(", r"\(")):
        load("skyhook", **given)


def test_unknown_controllers_are_refused() -> None:
    with pytest.raises(mbd.ModelError, match="no controller is called 'skihook'; did you mean 'skyhook'"):
        load("skihook")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("body_speed", math.nan, "body_speed must be a finite number, found nan"),
        ("body_speed", "fast", "body_speed must be a number, found 'fast'"),
        ("bodyspeed", 1.0, "has no 'bodyspeed'; did you mean 'body_speed'"),
        ("gain", -1.0, "gain must be at least 0, found -1"),
        ("lag", 0.1, "parameter 'lag' is fixed; set it before the start"),
        ("force", 1.0, "has no 'force'"),
    ],
)
def test_what_cannot_be_set_changes_nothing(name: str, value: Any, said: str) -> None:
    c = load("skyhook", lag=0.02).start()
    before = c.save()
    with pytest.raises(mbd.ModelError, match=said):
        c[name] = value
    assert c.save() == before


@pytest.mark.parametrize("size", [0.0, -1e-3, math.nan, math.inf, 1e-30])
def test_a_step_must_lead_forward(size: float) -> None:
    c = load("skyhook", lag=0.02).start(at=1.0)
    with pytest.raises(mbd.ModelError, match="a step must have a positive size"):
        c.step(size)
    assert c.time == 1.0


def test_a_law_that_overflows_takes_the_step_back() -> None:
    c = load("pid", ki=1.0).start()
    c["setpoint"] = 1e308
    c["measured"] = -1e308
    with pytest.raises(mbd.StepFailed, match="controller 'pid' at t = 0 s: 'y' or its rate is"):
        c["y"]
    with pytest.raises(mbd.StepFailed, match="'pid'"):
        c.step(0.1)
    c["setpoint"] = c["measured"] = 0.0
    c.step(0.1)
    assert c.time == 0.1


# ---------------------------------------------------------------- inside a model

LINKS = {
    "skyhook.body_speed": "plant.body_speed",
    "skyhook.travel_rate": "plant.travel_rate",
    "plant.actuator": "skyhook.force",
}


def test_the_twin_is_the_limit_of_ever_finer_co_simulation() -> None:
    plant, sky = mbd.models.load("quarter_car"), load("skyhook", lag=0.02)
    twin = mbd.controllers.inside(plant, {"skyhook": sky}, LINKS).simulate(0.8, 0.8, tolerance=1e-9)
    errors = []
    for size in (4e-3, 2e-3, 1e-3):
        simulation, c = plant.start(tolerance=1e-9), sky.start()
        for _ in range(round(0.8 / size)):
            c["body_speed"], c["travel_rate"] = simulation["body_speed"], simulation["travel_rate"]
            simulation["actuator"] = c["force"]
            simulation.step(size)
            c.step(size)
        errors.append(abs(simulation["height_of_body"] - float(twin["height_of_body"][-1])))
    assert errors[1] < 0.6 * errors[0] and errors[2] < 0.6 * errors[1]  # of first order, as held inputs are
    assert errors[2] < 1e-4  # m, of 0.05 m


def test_skyhook_damping_calms_the_body() -> None:
    plant = mbd.models.load("quarter_car")
    twin = mbd.controllers.inside(plant, {"skyhook": load("skyhook")}, LINKS)
    passive, active = (float(np.max(np.abs(m.simulate(3.0)["height_of_body"]))) for m in (plant, twin))
    assert active < 0.75 * passive


def test_a_twin_has_the_controller_s_parameters_and_ports() -> None:
    twin = mbd.controllers.inside(mbd.models.load("quarter_car"), {"skyhook": load("skyhook", limit=800.0)}, LINKS)
    found = {s.name: s for s in twin.signals()}
    assert found["skyhook_gain"].variability == "tunable" and found["skyhook_gain"].minimum == 0
    assert found["skyhook_force"].causality == "output" and found["skyhook_force"].unit == "N"
    assert "road" in found and found["actuator"].causality == "local"
    gentle = twin.simulate(1.0, parameters={"skyhook_gain": 0.0})
    assert not np.any(gentle["skyhook_force"])


def test_controllers_feed_each_other_and_what_nothing_feeds_stays_an_input() -> None:
    chain = {"pid": load("pid", kp=2.0), "skyhook": load("skyhook", lag=0.02)}
    links = {"pid.measured": "plant.height_of_body", "skyhook.body_speed": "pid.y", "plant.actuator": "skyhook.force"}
    twin = mbd.controllers.inside(mbd.models.load("quarter_car"), chain, links)
    inputs = {s.name for s in twin.symbolic.inputs}
    assert inputs == {"road", "pid_setpoint", "skyhook_travel_rate"}
    simulation = twin.start()
    simulation["pid_setpoint"] = 0.1
    simulation.step(0.5)  # the lag of 20 ms is long over, and the body has moved by some cm
    expected = -3000.0 * 2.0 * (0.1 - simulation["height_of_body"])
    assert simulation["skyhook_force"] == pytest.approx(expected, rel=0.2)


def test_connections_have_factors_and_offsets_as_couplings_have() -> None:
    """A skyhook that is told twice the speed and gives half of its force, less what lifts the body."""
    scaled = {
        "skyhook.body_speed": {"from": "plant.body_speed", "factor": 2.0},
        "skyhook.travel_rate": {"from": "plant.travel_rate", "factor": 2.0},
        "plant.actuator": {"from": "skyhook.force", "factor": 0.5, "offset": -300.0},
    }
    twin = mbd.controllers.inside(mbd.models.load("quarter_car"), {"skyhook": load("skyhook")}, scaled)
    result = twin.simulate(1.0, record=["actuator", "skyhook_force", "body_speed"])
    assert result["skyhook_force"] == pytest.approx(-6000.0 * result["body_speed"], rel=1e-12)
    assert result["actuator"] == pytest.approx(0.5 * result["skyhook_force"] - 300.0, rel=1e-12)
    for wrong, said in (({"delayed": True}, "leave delayed out"), ({"factr": 2}, "did you mean 'factor'")):
        with pytest.raises(mbd.ModelError, match=said):
            links = {"plant.actuator": {"from": "skyhook.force", **wrong}}
            mbd.controllers.inside(mbd.models.load("quarter_car"), {"skyhook": load("skyhook")}, links)


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ({"plant.actuatr": "skyhook.force"}, "'plant' has no input 'actuatr'; did you mean 'actuator'"),
        ({"plant.actuator": "skyhook.forse"}, "'skyhook' has no output 'forse'; did you mean 'force'"),
        ({"plan.actuator": "skyhook.force"}, "nothing is called 'plan'; did you mean 'plant'"),
        ({"skyhook.body_speed": "skyhook.force"}, "feed each other in a circle"),
    ],
)
def test_connections_that_do_not_fit_are_named(links: dict[str, str], said: str) -> None:
    with pytest.raises(mbd.ModelError, match=said):
        mbd.controllers.inside(mbd.models.load("quarter_car"), {"skyhook": load("skyhook")}, links)


# ---------------------------------------------------------------- samples inside a model

QUARTER, RIG = ("height_of_body", "acceleration"), ("distance", "slip", "deceleration")
STATE_FED = {name: name for name in ("height_of_body", "body_speed", "height_of_wheel", "travel_rate")}
BRAKE_FED = {"slip": "slip", "speed": "car_speed"}
# Name and parameters, the plant and what is recorded of it, what feeds the controller, what it drives, what is set.
SAMPLED: dict[str, tuple[Controller, str, tuple[str, ...], dict[str, str], dict[str, str], dict[str, float]]] = {
    "skyhook": (load("skyhook", sample_time=5e-3, lag=0.02, limit=900.0), "quarter_car", QUARTER,
                {"body_speed": "body_speed", "travel_rate": "travel_rate"}, {"actuator": "force"}, {}),
    "pid": (load("pid", sample_time=5e-3, kp=2e3, ki=4e3, kd=30.0, lowest=-300.0, highest=500.0), "quarter_car",
            QUARTER, {"measured": "height_of_body"}, {"actuator": "y"}, {"setpoint": 0.02}),
    "pid of what its force moves at once": (load("pid", sample_time=5e-3, kp=-100.0), "quarter_car", QUARTER,
                                            {"measured": "acceleration"}, {"actuator": "y"}, {}),
    "lqr": (load("lqr", sample_time=5e-3), "quarter_car", QUARTER, STATE_FED, {"actuator": "force"}, {}),
    "state_space": (load("state_space", sample_time=5e-3, A=((0.0, 1.0), (-40.0, -8.0)), B=((0.0,), (40.0,)),
                         C=((-900.0, 0.0),), D=((-200.0,),)), "quarter_car", QUARTER, {"u1": "body_speed"},
                    {"actuator": "y1"}, {}),
    "abs_slip": (load("abs_slip", sample_time=2e-3), "brake_rig", RIG, BRAKE_FED, {"brake": "torque"}, {"demand": 3e3}),
    "abs_threshold": (load("abs_threshold"), "brake_rig", RIG, BRAKE_FED, {"brake": "torque"}, {"demand": 3e3}),
}  # fmt: skip
TIGHT = {"tolerance": 1e-10}


def side_by_side(key: str, controller: Controller, count: int, parts: int, **settings: Any) -> dict[str, list[float]]:
    """The loop in Python, with several steps in each sample time; what there is at each sample."""
    _, plant, record, feeds, drives, free = SAMPLED[key]
    simulation, c = mbd.models.load(plant).start(**settings), controller.start()
    names = (*controller.outputs, *controller.states, *controller.memory)
    rows: dict[str, list[float]] = {name: [] for name in (*record, *(f"c_{name}" for name in names))}
    for name, value in free.items():
        c[name] = value
    for k in range(count * parts + 1):
        for port, source in feeds.items():
            c[port] = simulation[source]
        if k % parts == 0:
            for name, found in rows.items():
                found.append(c[name[2:]] if name.startswith("c_") else simulation[name])
        for port, source in drives.items():
            simulation[port] = c[source]
        simulation.step(controller.sample_time / parts)
        c.step(controller.sample_time / parts)
    return rows


def sampled_twin(key: str, controller: Controller) -> mbd.Model:
    _, plant, _, feeds, drives, _ = SAMPLED[key]
    links = {f"c.{port}": f"plant.{source}" for port, source in feeds.items()}
    links |= {f"plant.{port}": f"c.{source}" for port, source in drives.items()}
    return mbd.controllers.inside(mbd.models.load(plant), {"c": controller}, links)


@pytest.mark.parametrize("scheme", ["dop853", "radau"])
@pytest.mark.parametrize(("delay", "parts"), [(0.0, 1), (0.4, 5), (1.0, 1), (2.5, 2)])
@pytest.mark.parametrize("key", SAMPLED)
def test_a_sampled_twin_is_the_loop_in_python(key: str, delay: float, parts: int, scheme: str) -> None:
    """Sample by sample, also where accelerations are fed back; a sample is late by 1e-8 of the sample time."""
    controller, free = SAMPLED[key][0], SAMPLED[key][5]
    controller = replace(controller, delay=delay * controller.sample_time)
    size, count = controller.sample_time, 150  # the bump begins at 0.5 s
    expected = side_by_side(key, controller, count, parts, scheme=scheme, **TIGHT)
    given = {f"c_{name}": value for name, value in free.items()}
    result = sampled_twin(key, controller).simulate(count * size, size, inputs=lambda t: given, scheme=scheme, **TIGHT)
    for name, values in expected.items():
        scale = max(map(abs, values)) or 1.0
        # A torque that jumps 1e-8 of a sample too late costs most: 1.6e-8 of the deceleration, 4e-9 of all else.
        np.testing.assert_allclose(result[name], values, rtol=0, atol=3e-8 * scale, err_msg=name)
    if "c_phase" in expected:
        assert result["c_phase"].tolist() == expected["c_phase"] and len(set(expected["c_phase"])) > 2
    assert result["c_samples"][-1] == count  # that at the end does not count yet


@pytest.mark.parametrize("order", ["abc", "cba"])
@pytest.mark.parametrize("sizes", [(4e-3, 4e-3), (3e-3, 2e-3)])
def test_sampled_controllers_see_the_plant_before_any_of_them_acts(order: str, sizes: tuple[float, float]) -> None:
    """Two of what a force moves at once, a third fed by the second, in either order; times meet but for rounding."""
    first, other = sizes
    gain = {"gains": ((0.5,),), "measured": ("y",), "channels": ("v",), "measured_units": (), "channel_units": ()}
    made = {
        "a": load("pid", kp=-60.0, sample_time=first),
        "b": load("pid", kp=1e-4, ki=1e-3, sample_time=other),
        "c": load("lqr", sample_time=other, **gain),
    }
    links = {"a.measured": "plant.acceleration", "b.measured": "plant.acceleration", "c.y": "b.y",
             "plant.actuator": "a.y", "plant.road": "c.v"}  # fmt: skip
    plant = mbd.models.load("quarter_car")
    settings: dict[str, Any] = {"scheme": "dop853", **TIGHT}
    twin = mbd.controllers.inside(plant, {name: made[name] for name in order}, links)
    result = twin.simulate(0.6, 1e-3, **settings)
    simulation, (a, b, c) = plant.start(**settings), (made[name].start() for name in "abc")
    rows = []
    for _ in range(601):
        a["measured"] = b["measured"] = simulation["acceleration"]
        c["y"] = b["y"]
        rows.append([simulation["height_of_body"], a["y"], b["y"], c["v"]])
        simulation["actuator"], simulation["road"] = a["y"], c["v"]
        for each in (simulation, a, b, c):
            each.step(1e-3)
    for name, values in zip(("height_of_body", "a_y", "b_y", "c_v"), np.array(rows).T, strict=True):
        np.testing.assert_allclose(result[name], values, rtol=0, atol=1e-8 * np.max(np.abs(values)), err_msg=name)


def test_inputs_that_are_set_at_a_sample_count_for_it() -> None:
    """Of a twin as of a running controller, before and after they are set."""
    simulation = sampled_twin("pid", load("pid", sample_time=5e-3, kp=1e3)).start(**TIGHT)
    for k in range(40):
        for setpoint in (0.01 * k, -0.02 * k):
            simulation["c_setpoint"] = setpoint
            assert simulation["c_y"] == pytest.approx(1e3 * (setpoint - simulation["height_of_body"]), abs=1e-9)
        simulation.step(5e-3)
        assert simulation["c_y_held"] == pytest.approx(1e3 * setpoint, abs=60)  # N: the body moves by up to 6 cm
        assert simulation["c_samples"] == k + 1


@pytest.mark.parametrize(("scheme", "most"), [("hht", 10), ("radau", 20), ("dop853", 45)])
def test_points_of_output_at_samples_make_these_cheap(scheme: str, most: int) -> None:
    """Residuals for each sample: found from a point at its time without a step, else by some ten of them."""
    twin = sampled_twin("skyhook", SAMPLED["skyhook"][0])
    cheap, dear = (twin.simulate(0.75, step, scheme=scheme).statistics["residuals"] / 150 for step in (5e-3, 0.75))
    assert cheap < most and dear < 15 * most


def test_a_delay_leads_through_a_circle_of_controllers() -> None:
    def led(delay: float) -> mbd.Model:
        made = {"a": load("pid", sample_time=5e-3, delay=delay), "b": load("skyhook")}
        links = {"a.measured": "b.force", "b.body_speed": "a.y", "plant.actuator": "b.force"}
        return mbd.controllers.inside(mbd.models.load("quarter_car"), made, links)

    assert led(5e-3).simulate(0.02, 0.02)["a_samples"][-1] == 4
    with pytest.raises(mbd.ModelError, match="controllers feed each other in a circle"):
        led(0.0)


def test_samples_inside_a_model_do_not_drift() -> None:
    """0.1 s is no binary number: ten thousand of them added up would miss the end."""
    result = Counter(sample_time=0.1).model().simulate(1000.0, 1000.0)
    assert result["samples"][-1] == 10000 and result["count"][-1] == 10001  # that at the end does not count yet


def test_delays_that_no_chain_holds_are_refused() -> None:
    late = load("skyhook", sample_time=1e-3, delay=0.2)
    reason = r"'sky' \(skyhook\): its delay of 0.2 s must be below 0.1 s inside a model, 100 samples of 0.001 s"
    with pytest.raises(mbd.ModelError, match=reason):
        mbd.controllers.inside(mbd.models.load("quarter_car"), {"sky": late}, {})
    model = load("skyhook", sample_time=0.01, delay=0.025).model()
    for name, value in (("delay", 0.031), ("sample_time", 0.008)):
        with pytest.raises(mbd.ModelError, match=f"parameter '{name}' must lie in"):
            model.simulate(0.1, 0.1, parameters={name: value})
    longer = model.simulate(0.1, 0.001, parameters={"sample_time": 0.02, "delay": 0.0299})
    assert longer["shown"][-1] == 4  # of the samples at 0, 20, 40 and 60 ms


def test_no_model_is_called_like_a_controller() -> None:
    assert not set(mbd.models.names()) & set(mbd.controllers.names())


# ---------------------------------------------------------------- anti-lock brakes

LOCKED, WATCHED = -0.95, 15 / 3.6  # slip of a wheel that stands, and speed (m/s) above which it must not
DEMAND = 3000.0  # N.m, which locks the wheel at once


@dataclass
class Stop:
    """How a braked wheel came to rest."""

    distance: float
    locked: float  # s, the longest time at a stretch
    lowest: float  # torque
    highest: float


def stopped(controller: Controller | None, friction: float, size: float = 2e-3) -> Stop:
    """The brake rig from 100 km/h, in co-simulation with the controller; None: the driver alone."""
    rig, found, locked = mbd.models.load("brake_rig").start(parameters={"friction": friction}), Stop(0, 0, 0, 0), 0.0
    running = None if controller is None else controller.start()
    while rig["car_speed"] > 0.5:
        torque = DEMAND
        if running is not None:
            running["slip"], running["speed"], running["demand"] = rig["slip"], rig["car_speed"], DEMAND
            torque = running["torque"]
            running.step(size)
        found.lowest, found.highest = min(found.lowest, torque), max(found.highest, torque)
        rig["brake"] = torque
        rig.step(size)
        locked = locked + size if rig["slip"] < LOCKED and rig["car_speed"] > WATCHED else 0.0
        found.locked = max(found.locked, locked)
    found.distance = rig["distance"]
    return found


ABS = [("abs_slip", {}), ("abs_slip", {"sample_time": 0.005}), ("abs_threshold", {}),
       ("abs_threshold", {"sample_time": 0.005})]  # fmt: skip


@pytest.mark.parametrize("friction", [1.0, 0.4])
@pytest.mark.parametrize(("name", "given"), ABS)
def test_anti_lock_brakes_keep_the_wheel_turning(name: str, given: dict[str, float], friction: float) -> None:
    controller = load(name, **given)
    stop = stopped(controller, friction)
    assert stop.locked <= type(controller).lock_limit  # type: ignore[attr-defined]
    assert stop.lowest >= 0 and stop.highest <= DEMAND


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("friction", "locked_distance"), [(1.0, 48.9), (0.4, 145.7)])
def test_anti_lock_brakes_stop_sooner_than_a_locked_wheel(friction: float, locked_distance: float) -> None:
    driver = stopped(None, friction)
    assert driver.distance == pytest.approx(locked_distance, abs=0.5) and driver.locked > 1.0
    for name, gain in (("abs_slip", 0.25), ("abs_threshold", 0.1)):
        assert stopped(load(name), friction).distance < (1 - gain) * driver.distance


def test_a_brake_that_slips_too_little_is_the_driver_s() -> None:
    for name in ("abs_slip", "abs_threshold"):
        c = load(name, **({"lag": None} if name == "abs_slip" else {})).start()
        c["speed"], c["slip"], c["demand"] = 20.0, -0.02, 500.0
        assert c["torque"] == 500.0
        c["slip"], c["speed"] = -1.0, 1.0  # locked, but below the cut-out speed
        assert c["torque"] == 500.0


def test_thresholds_go_through_their_phases() -> None:
    c = load("abs_threshold").start()
    c["speed"], c["demand"] = 20.0, 1000.0
    phases = []
    for slip in (0.05, 0.3, 0.4, 0.3, 0.14, 0.14, 0.05, 0.05):
        c["slip"] = -slip
        phases.append(c["phase"])
        c.step(0.002)
    free, release, hold, build = 1, 2, 3, 4
    assert phases == [free, release, release, hold, hold, hold, build, build]
    for _ in range(200):
        c.step(0.002)
    assert c["torque"] == 1000.0 and c["phase"] == free  # back at what the driver demands


def test_an_integral_that_is_led_back_does_not_wind_up() -> None:
    c = load("abs_slip", lag=None).start()
    c["speed"], c["slip"], c["demand"] = 20.0, -1.0, 300.0
    c.step(5.0)  # 5 s at the limit
    assert c["torque"] == 0.0
    c["slip"] = -0.02
    c.step(0.2)
    assert c["torque"] == pytest.approx(300.0)


def test_each_of_four_wheels_is_controlled_alone() -> None:
    c = load("abs_slip:wheels=4", lag=None).start()
    c["speed"], c["demand"], c["slip_rl"] = 20.0, 800.0, -0.9
    assert [c[f"torque_{w}"] for w in ("fl", "fr", "rl", "rr")] == [800.0, 800.0, 0.0, 800.0]
    with pytest.raises(mbd.ModelError, match="wheels must be 1 or 4, found 3"):
        load("abs_slip", wheels=3)


# ---------------------------------------------------------------- optimal feedback

MEASURED = ("height_of_body", "body_speed", "height_of_wheel", "travel_rate")
STATE_LINKS = {f"lqr.{name}": f"plant.{name}" for name in MEASURED} | {"plant.actuator": "lqr.force"}
LEVEL = {"bump": 0.0}


def linear_quarter_car() -> Any:
    return mbd.models.load("quarter_car").linearize(inputs="actuator", outputs=MEASURED, parameters=LEVEL)


def test_the_gains_are_those_of_the_closed_loop_that_is_built() -> None:
    linear = linear_quarter_car()
    gains = mbd.controllers.lqr_gains(linear, ["actuator"], MEASURED, [1e6, 1e5, 1e5, 1e4], [1e-3])
    np.testing.assert_allclose(gains, load("lqr").gains, rtol=1e-5)  # the shipped ones, written with six digits
    twin = mbd.controllers.inside(mbd.models.load("quarter_car"), {"lqr": load("lqr", gains=gains)}, STATE_LINKS)
    closed = np.linalg.eigvals(linear.A - linear.B @ np.array(gains) @ linear.C)
    found = twin.linearize(parameters=LEVEL).eigenvalues
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(closed), atol=1e-7 * np.abs(closed).max())


def test_the_closed_loop_decays_as_its_slowest_eigenvalue_says() -> None:
    twin = mbd.controllers.inside(mbd.models.load("quarter_car"), {"lqr": load("lqr")}, STATE_LINKS)
    moving = [e.real for e in twin.linearize(parameters=LEVEL).eigenvalues if abs(e) > 1e-6]  # the tyre's slip rests
    slowest = max(moving)
    result = twin.simulate(2.0, 0.01, parameters=LEVEL, start={"body.y": twin.start()["body.y"] + 0.01}, tolerance=1e-9)
    late = [float(result["height_of_body"][k]) for k in (120, 160)]  # 1.2 and 1.6 s: faster ones are gone
    assert math.log(late[1] / late[0]) / 0.4 == pytest.approx(slowest, rel=0.01)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outputs": MEASURED[:3]}, "4 of them must determine the states"),
        ({"outputs": ("height_of_body",) * 2 + MEASURED[:2]}, "must determine the states|do not determine the states"),
        ({"inputs": ["actuatr"]}, "has no input 'actuatr'; did you mean 'actuator'"),
        ({"Q": [1.0]}, "Q must be a matrix of 4 x 4 numbers"),
        ({"R": [0.0]}, "there is no optimal feedback"),
    ],
)
def test_designs_that_cannot_be_are_refused(change: dict[str, Any], said: str) -> None:
    given = {"inputs": ["actuator"], "outputs": MEASURED, "Q": [1e6, 1e5, 1e5, 1e4], "R": [1e-3], **change}
    if len(given["outputs"]) != 4:
        given["Q"] = [1.0] * len(given["outputs"])
    with pytest.raises(mbd.ModelError, match=said):
        mbd.controllers.lqr_gains(linear_quarter_car(), **given)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("lqr", {"gains": ((1.0, 2.0),)}, r"gains must be 1 rows \(channels\) of 4 numbers \(measured\)"),
        ("lqr", {"gains": "many"}, "gains must be a number or rows of numbers"),
        ("lqr", {"channel_units": ("N", "N")}, "channel_units must be none or as many"),
        ("state_space", {"A": ((1.0, 2.0),)}, "A must be 1 rows of 1, found 1 of 2"),
        ("abs_threshold", {"lower": 0.3}, "lower must be below upper"),
        ("abs_threshold", {"sample_time": 0.0}, "sample_time must be at least"),
        ("pid", {"lowest": 2.0, "highest": 1.0}, "lowest must be below highest"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(mbd.ModelError, match=said):
        load(name, **given)


def test_the_groundhook_s_share_of_one_is_the_skyhook() -> None:
    sky, both = load("skyhook", gain=2000.0).start(), load("groundhook", gain=2000.0, share=1.0).start()
    for c in (sky, both):
        c["body_speed"], c["travel_rate"] = 0.4, -0.7
    assert both["force"] == sky["force"]
    both["share"] = 0.0
    assert both["force"] == pytest.approx(1500.0 * 1.1)  # against the wheel, which rises by 1.1 m/s


# ---------------------------------------------------------------- on whole vehicles


def test_the_brake_s_twin_is_what_fine_samples_come_to() -> None:
    controller, until = load("abs_slip"), 1.0
    links = {"abs.slip": "plant.slip", "abs.speed": "plant.car_speed", "plant.brake": "abs.torque"}
    twin = mbd.controllers.inside(mbd.models.load("brake_rig"), {"abs": controller}, links)
    whole = twin.simulate(until, until, inputs=lambda t: {"abs_demand": DEMAND})
    rig, brake = mbd.models.load("brake_rig").start(), controller.start()
    brake["demand"] = DEMAND
    for _ in range(2000):
        brake["slip"], brake["speed"] = rig["slip"], rig["car_speed"]
        rig["brake"] = brake["torque"]
        rig.step(5e-4)
        brake.step(5e-4)
    assert rig["distance"] == pytest.approx(float(whole["distance"][-1]), abs=0.03)  # 20 mm of 22.2 m, 10 at 1/4 ms


@pytest.mark.nightly
def test_four_wheels_of_a_car_stay_turning_on_a_wet_road() -> None:
    car = mbd.models.load("full_vehicle").start(parameters={"friction": 0.4}, largest_step=5e-3)
    brake = load("abs_slip:wheels=4", sample_time=0.005).start()
    corners = dict(zip(("fl", "fr", "rl", "rr"), ("front_left", "front_right", "rear_left", "rear_right"), strict=True))
    begin, slips = car["speed_ahead"], []
    brake["demand"] = 2000.0
    for _ in range(200):
        brake["speed"] = car["speed_ahead"]
        for short, corner in corners.items():
            brake[f"slip_{short}"] = car[f"{corner}_slip"]
            car[f"{corner}.brake"] = brake[f"torque_{short}"]
        car.step(0.005)
        brake.step(0.005)
        slips.append([car[f"{corner}_slip"] for corner in corners.values()])
    late = np.array(slips)[100:]
    assert late.min() > LOCKED and late.mean() == pytest.approx(-0.1, abs=0.03)  # the slip that is set
    assert (begin - car["speed_ahead"]) / 1.0 > 0.3 * 9.81  # m/s2, of a friction of 0.4


# ---------------------------------------------------------------- the page


def test_what_the_page_shows_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "controllers.md").read_text(encoding="utf-8")
    (tmp_path / "shown.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), encoding="utf-8")
    done = subprocess.run([sys.executable, "shown.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "skyhook_native.fmu").is_file() and "<leak at t = 0 s>" in done.stdout


def test_a_controller_loads_nothing_heavy() -> None:
    heavy = {"pydantic", "click", "h5py", "scipy", "fmpy", "pythonfmu", "numpy"}
    code = f"import sys, mbdfmu.controllers; print(*({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == [], done.stdout + done.stderr


def test_names_that_a_model_has_already_are_refused() -> None:
    plant = mbd.models.load("quarter_car")
    plant.add("skyhook_force", "body.vy")
    with pytest.raises(mbd.ModelError, match=r"outputs.skyhook_force: the model has one and a controller brings one"):
        mbd.controllers.inside(plant, {"skyhook": load("skyhook")}, LINKS)


@dataclass(frozen=True, kw_only=True)
class Forgetful(Controller, name="test_forgetful"):
    """Gives no rate of its state."""

    outputs: ClassVar[Any] = {"y": Port()}
    states: ClassVar[Any] = {"x": State()}

    def law(self, x: Any, u: Any) -> Law:
        return Law({"y": x["x"]})


def test_a_law_that_forgets_something_is_told_what() -> None:
    with pytest.raises(mbd.ModelError, match="controller 'test_forgetful': its law must give x, found nothing"):
        Forgetful().start().step(0.1)


def test_inputs_of_sub_models_cannot_be_driven_inside() -> None:
    links = {"plant.front_left.actuator": "skyhook.force"}
    with pytest.raises(mbd.ModelError, match=r"'front_left\.actuator' is an input of a sub-model"):
        mbd.controllers.inside(mbd.models.load("full_vehicle"), {"skyhook": load("skyhook")}, links)


def test_anti_lock_brakes_inside_a_model_stop_the_car_at_a_tight_tolerance() -> None:
    """They give way at low speed without a jump: dop853 at 1e-10 gave up at one."""
    links = {"abs.slip": "plant.slip", "abs.speed": "plant.car_speed", "plant.brake": "abs.torque"}
    twin = mbd.controllers.inside(mbd.models.load("brake_rig"), {"abs": load("abs_slip")}, links)
    given = {"tolerance": 1e-10, "inputs": {"abs_demand": ([0.0], [3000.0])}}
    explicit, implicit = (twin.simulate(3.0, 0.5, scheme=scheme, **given) for scheme in ("dop853", "radau"))
    assert abs(explicit["car_speed"][-1]) < 1e-3
    assert explicit["distance"] == pytest.approx(implicit["distance"], abs=1e-6)
