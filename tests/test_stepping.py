"""Stepping from Python: exact times, inputs, save and restore bit for bit, parameters, independence of instances."""

import threading
from pathlib import Path

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.joints import Revolute

MODELS = ["pendulum", "slider_crank", "andrews", "andrews_angles"]


def state(simulation) -> np.ndarray:
    return simulation.values().copy()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "settings", [{}, {"step": 1e-4}, {"options": {"form": "printed"}}], ids=["error", "fixed", "printed"]
)
def test_restored_state_continues_bit_for_bit(name: str, settings: dict) -> None:
    simulation = mbd.models.load(name).start(**settings)
    span = 0.003
    for _ in range(3):
        simulation.step(span)
    saved = simulation.save()
    for _ in range(3):
        simulation.step(span)
    first = state(simulation)
    simulation.restore(saved)
    assert simulation.time == pytest.approx(3 * span)
    for _ in range(3):
        simulation.step(span)
    np.testing.assert_array_equal(state(simulation), first)


def test_reading_signals_does_not_change_the_run() -> None:
    model = mbd.models.load("slider_crank")
    silent, read = model.start(), model.start()
    for _ in range(50):
        silent.step(0.01)
        read.step(0.01)
        read["crank.phi"]
    np.testing.assert_array_equal(state(silent), state(read))


def test_communication_points_are_hit_exactly() -> None:
    simulation = mbd.models.load("pendulum").start()
    for time in (0.1, 0.1000001, 0.25, 1.0):
        simulation.advance(time)
        assert simulation.time == time


def test_time_runs_forward_only() -> None:
    simulation = mbd.models.load("pendulum").start()
    simulation.step(0.1)
    with pytest.raises(mbd.ModelError, match=r"cannot advance from t = 0\.1 s back to t = 0\.05 s"):
        simulation.advance(0.05)
    with pytest.raises(mbd.ModelError, match="step must be a positive number"):
        simulation.step(-1)


def test_unknown_names_are_refused() -> None:
    simulation = mbd.models.load("pendulum").start()
    with pytest.raises(mbd.ModelError, match=r"no signal 'bar\.fi'; did you mean 'bar\.phi'"):
        simulation["bar.fi"]
    with pytest.raises(mbd.ModelError, match="no input 'torqe'; did you mean 'torque'"):
        simulation["torqe"] = 1.0
    with pytest.raises(mbd.ModelError, match="it is a fixed parameter"):
        simulation["length"] = 1.0
    with pytest.raises(mbd.ModelError, match="finite"):
        simulation["torque"] = float("nan")


def test_input_jump_restarts_and_small_changes_do_not() -> None:
    simulation = mbd.models.load("pendulum").start()
    simulation["torque"] = 1.0
    simulation.step(0.1)
    assert simulation.statistics["restarts"] == 1
    simulation["torque"] = 1.0 + 1e-9
    simulation.step(0.1)
    assert simulation.statistics["restarts"] == 1


def test_jump_shows_at_once_in_accelerations() -> None:
    simulation = mbd.models.load("pendulum").start()
    before = simulation["bar.alpha"]
    simulation["torque"] = 1.0
    assert simulation["bar.alpha"] - before == pytest.approx(3.0)  # torque over m l^2 / 3


@pytest.mark.parametrize("scheme", ["hht", "dopri5", "direct"])
def test_an_input_that_jumps_between_points_of_output_is_recorded_on_both_sides(scheme: str) -> None:
    """A curve through the rows shows a jump and no ramp; what keeps its value adds no row."""
    pendulum = mbd.models.load("pendulum")
    given = {"torque": ([0, 0.4, 0.4, 1], [0, 0, 3, 3])}
    result = pendulum.simulate(1.0, 0.25, inputs=given, scheme=scheme)
    assert list(result.time) == [0, 0.25, 0.4, 0.4, 0.5, 0.75, 1]
    assert list(result["torque"]) == [0, 0, 0, 3, 3, 3, 3]
    assert result["bar.phi"][2] == pytest.approx(result["bar.phi"][3], abs=1e-9)
    assert result["bar.alpha"][3] - result["bar.alpha"][2] == pytest.approx(3 * 3.0, rel=1e-3)
    held = pendulum.simulate(
        1.0, 0.25, inputs={"torque": ([0, 0.1, 0.6, 0.75], [1, 1, 2, 3])}, interpolation="hold", scheme=scheme
    )
    assert list(held.time) == [0, 0.25, 0.5, 0.6, 0.6, 0.75, 0.75, 1]
    assert list(held["torque"]) == [1, 1, 1, 1, 2, 2, 3, 3]


def test_instances_in_threads_are_independent() -> None:
    model = mbd.models.load("slider_crank")
    results: dict[int, np.ndarray] = {}

    def work(k: int) -> None:
        simulation = model.start(start={"crank.phi": 0.5 + 0.1 * (k % 2)})
        for _ in range(30):
            simulation.step(0.01)
        results[k] = state(simulation)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])
    assert not np.array_equal(results[0], results[1])


def spring_pendulum(k: float, length: float, mass: float, angle: float) -> mbd.Model:
    model = mbd.Model("spring_pendulum", gravity=(0, -9.81))
    for name, value in (("k", k), ("l", length), ("m", mass)):
        model.add(name, value)
    model.add("bar", mbd.Body(mass="m", inertia="m*l^2/12", position=("l/2*cos(phi0)", "l/2*sin(phi0)"), angle="phi0"))
    model.add("phi0", angle)
    model.add("hinge", Revolute(i={"body": "ground"}, j={"body": "bar", "at": ("-l/2", 0)}))
    spring = mbd.forces.Translational(
        i={"body": "ground", "at": (0, 1)}, j={"body": "bar", "at": ("l/2", 0)}, stiffness="k"
    )
    model.add("spring", spring)
    return model


def test_changed_parameters_equal_a_model_built_with_them() -> None:
    """Stiffness, length, mass and start angle: native parameters against a new lowering."""
    values = {"k": 37.0, "l": 1.3, "m": 2.2, "phi0": -0.4}
    changed = spring_pendulum(10, 1, 1, 0).start(parameters=values, step=1e-3)
    built = spring_pendulum(values["k"], values["l"], values["m"], values["phi0"]).start(step=1e-3)
    changed.step(0.5)
    built.step(0.5)
    for name in ("bar.x", "bar.phi", "bar.omega", "hinge.reaction.x", "spring.force", "energy.potential"):
        assert changed[name] == pytest.approx(built[name], rel=1e-12, abs=1e-12), name


def test_failed_step_names_time_and_keeps_what_was_computed() -> None:
    model = mbd.Model("singular")
    model.add("ball", mbd.Body(mass=1, inertia=1, position=(1, 0), velocity=(-1, 0), free=True))
    spring = mbd.forces.Translational(i={"body": "ground"}, j={"body": "ball"}, force="-1/(0.5 - time)^2")
    model.add("pull", spring)
    with pytest.raises(mbd.StepFailed, match=r"at t = 0\.\d+ s with a step of .* worst: body 'ball' ") as caught:
        model.simulate(1.0, 0.05, tolerance=1e-4)
    assert caught.value.result.complete is False
    assert len(caught.value.result.time) > 5


def test_ten_tenths_and_the_rest() -> None:
    """0.1 ten times is not 1: what is left is too short for a step."""
    simulation = mbd.models.load("pendulum").start()
    for _ in range(10):
        simulation.step(0.1)
    simulation.advance(1.0)
    simulation.step(0.1)
    straight = mbd.models.load("pendulum").start(tolerance=1e-9)
    straight.advance(1.1)
    assert simulation["bar.phi"] == pytest.approx(straight["bar.phi"], abs=1e-3)


@pytest.mark.parametrize("tiny", [1e-12, 1e-9, 1e-6])
def test_tiny_communication_steps_keep_the_accuracy(tiny: float) -> None:
    simulation = mbd.models.load("slider_crank").start(tolerance=1e-7)
    for k in range(1, 21):
        simulation.advance(0.05 * k - tiny)
        simulation.advance(0.05 * k)
    straight = mbd.models.load("slider_crank").start(tolerance=1e-9)
    straight.advance(1.0)
    assert simulation["crank.phi"] == pytest.approx(straight["crank.phi"], abs=2e-3)


def test_states_fit_their_own_model_and_scheme_only() -> None:
    model = mbd.models.load("slider_crank")
    simulation, printed = model.start(), model.start(options={"form": "printed"})
    with pytest.raises(mbd.ModelError, match="another scheme"):
        printed.restore(simulation.save())
    with pytest.raises(mbd.ModelError, match="another model"):
        mbd.models.load("pendulum").start().restore(simulation.save())
    other = model.start()
    simulation.step(0.3)
    other.restore(simulation.save())
    simulation.step(0.2)
    other.step(0.2)
    np.testing.assert_array_equal(state(simulation), state(other))


def tunable_pendulum() -> mbd.Model:
    model = mbd.Model("tunable", gravity=(0, -9.81))
    for name, value in (("m", 1.0), ("l", 1.0)):
        model.add(name, mbd.Parameter(value=value, tunable=True))
    model.add("bar", mbd.Body(mass="m", inertia="m*l^2/12", position=("l/2", 0)))
    model.add("hinge", Revolute(i={"body": "ground"}, j={"body": "bar", "at": ("-l/2", 0)}))
    return model


def test_tunable_parameter_acts_from_now_on() -> None:
    simulation = tunable_pendulum().start()
    simulation.step(0.1)
    before = simulation["hinge.reaction.y"]
    simulation["m"] = 2.0
    assert simulation["hinge.reaction.y"] == pytest.approx(2 * before)
    simulation.step(0.1)


@pytest.mark.parametrize(
    ("name", "value", "message"), [("m", -1.0, "mass must be positive"), ("l", 1.5, "would open joint 'hinge'")]
)
def test_refused_change_leaves_the_old_value(name: str, value: float, message: str) -> None:
    simulation = tunable_pendulum().start()
    simulation.step(0.1)
    saved = simulation[name], simulation["bar.alpha"]
    with pytest.raises(mbd.ModelError, match=message):
        simulation[name] = value
    assert (simulation[name], simulation["bar.alpha"]) == saved
    simulation.step(0.1)


def test_law_that_switches_on_a_reaction_is_consistent() -> None:
    model = mbd.Model("switch", gravity=(0, -9.81))
    model.add("bar", mbd.Body(mass=1, inertia=1 / 12, position=(0.5, 0)))
    model.add("hinge", Revolute(i={"body": "ground"}, j={"body": "bar", "at": (-0.5, 0)}))
    torque = "if(hinge.reaction.y > 0.5, 0.3, 0)"
    model.add("motor", mbd.forces.Rotational(i={"body": "ground"}, j={"body": "bar"}, torque=torque))
    simulation = model.start()
    assert simulation["hinge.reaction.y"] > 0.5
    assert simulation["bar.alpha"] == pytest.approx((0.3 - 9.81 / 2) * 3)


def pushed(**inputs: mbd.Input) -> mbd.Model:
    model = mbd.Model("pushed")
    for name, one in inputs.items():
        model.add(name, one)
    model.add("x", mbd.Coordinate(force="u[1] - u[2] + 2*u[3]", unit="m"))
    model.add_mass("x", 2.0)
    return model


def test_list_of_start_values_makes_an_array_of_inputs() -> None:
    sim = pushed(u=mbd.Input(start=[0.5, 0, 1], unit="N")).start()
    assert (sim["u[1]"], sim["u[2]"], sim["u[3]"]) == (0.5, 0, 1)
    sim["u[2]"] = 0.25
    sim.step(0.1)
    assert sim["x"] == pytest.approx((0.5 - 0.25 + 2) / 2 * 0.1**2 / 2, rel=1e-12)  # constant force: exact
    with pytest.raises(mbd.ModelError, match=r"no input 'u'"):
        sim["u"] = 1.0


def test_arrays_of_inputs_keep_their_bounds_and_travel_in_files(tmp_path: Path) -> None:
    model = pushed(u=mbd.Input(start=[0.5, 0, 1], unit="N"))
    model.save(tmp_path / "pushed.json")
    assert mbd.Model.load(tmp_path / "pushed.json").start()["u[3]"] == 1
    with pytest.raises(mbd.ModelError, match=r"start must lie within min and max, found 5"):
        mbd.Input(start=[0, 5], max=3)
    with pytest.raises(mbd.ModelError, match="at least two numbers"):
        mbd.Input(start=[1])


def test_submodels_bring_arrays_of_inputs() -> None:
    whole = mbd.Model("whole")
    whole.add("part", mbd.Submodel(model=pushed(u=mbd.Input(start=[1, 2, 3])).description))
    sim = whole.start()
    assert sim["part.u[2]"] == 2
    assert sim["der(part.x,2)"] == pytest.approx((1 - 2 + 6) / 2)
