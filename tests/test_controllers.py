"""Controllers: one law as numbers and as expressions, running instances, and twins inside models."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.controllers import Controller, Law, Memory, Port, State, tunable
from mbdfmu.controllers.functions import Symbol, text_of
from mbdfmu.expressions import Graph, build, evaluate, parse

load = mbd.controllers.load
# Every shipped controller as it comes, and in the variants that have other states.
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {} for name in mbd.controllers.names()},
    "skyhook with lag and limit": {"lag": 0.02, "limit": 900.0, "replaced": 1600.0},
    "pid with limits": {"kp": 2.0, "ki": 3.0, "kd": 0.1, "lowest": -1.0, "highest": 1.5},
}


def variant(key: str, **more: Any) -> Controller:
    return load(key.split(" ")[0], **{**VARIANTS[key], **more})


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


def test_sampled_controllers_are_refused_inside_a_model() -> None:
    plant = mbd.models.load("quarter_car")
    with pytest.raises(mbd.ModelError, match=r"controller 'skyhook' \(skyhook\) is sampled every 0.01 s"):
        mbd.controllers.inside(plant, {"skyhook": load("skyhook", sample_time=0.01)}, LINKS)
    with pytest.raises(mbd.ModelError, match="it keeps count between samples: run it beside the model"):
        Counter(sample_time=0.01).model()


def test_no_model_is_called_like_a_controller() -> None:
    assert not set(mbd.models.names()) & set(mbd.controllers.names())
