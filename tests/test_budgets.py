"""Runs that would not end are ended, and say by what (T9.15)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.description import Description
from mbdfmu.schemes import Scheme

FEW = 20_000  # tries
HOLD = "-100*sign(a.vx) - 50*sign(a.x - 0.3)"


def slider(force: str, **more: Any) -> mbd.Model:
    """A body on a guide under a force along it, 1 kg."""
    return mbd.Model.from_description(Description(**text(force, **more)))


def text(force: str, **more: Any) -> dict[str, Any]:
    return {
        "format_version": 1, "name": "slider",
        "bodies": {"a": {"mass": 1.0, "inertia": 0.1}},
        "joints": {"guide": {"type": "prismatic", "i": {"body": "ground"}, "j": {"body": "a"}}},
        "forces": {"hold": {"type": "vector", "i": {"body": "ground"}, "j": {"body": "a"}, "force": [force, 0]}},
        **more,
    }  # fmt: skip


@pytest.mark.parametrize("dt", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("scheme", ["hht", "newmark", "radau", "direct", "gcp-implicit"])
def test_a_force_that_jumps_to_and_fro_ends_the_run_by_name(scheme: str, dt: float) -> None:
    """However many outputs there are: in steps of a millisecond no advance takes as many tries."""
    with pytest.raises(mbd.StepFailed, match="most_steps, 20000, allows more") as caught:
        slider(HOLD).simulate(10.0, dt, scheme=scheme, most_steps=FEW)
    assert "forces.hold[0]: -100*sign(a.vx) - 50*sign(a.x - 0.3) jumps to and fro" in str(caught.value)
    done = caught.value.result
    assert done is not None and not done.complete


def test_friction_that_holds_is_seen_where_it_begins() -> None:
    """A body that slides to rest under dry friction: its motion until then is kept, and is right."""
    model = slider("-3*sign(a.vx)")
    with pytest.raises(mbd.StepFailed, match=r"sign\(a.vx\) jumps to and fro: .* from t = 0\.(5|49)") as caught:
        model.simulate(2.0, 0.01, start={"a.vx": 1.5}, most_steps=FEW)
    done = caught.value.result
    t = done.time[done.time < 0.5]
    np.testing.assert_allclose(done["a.vx"][: len(t)], 1.5 - 3 * t, atol=1e-5)
    assert done.time[-1] >= 0.49


@pytest.mark.parametrize("scheme", [one.type_name for one in Scheme.numbered()])
def test_an_oscillation_with_dry_friction_is_none(scheme: str) -> None:
    """Its friction changes its side 60 times a second, for good: many more steps than the budget in all."""
    model = slider("-1e4*a.x - 0.5*sign(a.vx) + 20*sin(60*pi*time)")
    result = model.simulate(1.0, 0.002, scheme=scheme, tolerance=1e-5, most_steps=FEW)
    assert result.complete


def test_what_is_too_fast_for_its_outputs_says_how_far_it_came() -> None:
    with pytest.raises(mbd.StepFailed, match=r"takes 20000 tries of a step from t = 0 s to .* on its way to 10 s"):
        slider("1e9*sin(1e6*time)").simulate(10.0, 10.0, most_steps=FEW)


def test_the_budget_is_of_one_advance() -> None:
    """A long run of many short ones has as much each time."""
    simulation = slider("-1e4*a.x").start(start={"a.x": 0.1}, most_steps=100)
    for _ in range(100):
        simulation.step(0.01)
    assert simulation.statistics["steps"] > 1000
    with pytest.raises(mbd.StepFailed, match="takes 100 tries"):
        simulation.advance(100.0)


def test_who_goes_back_has_a_budget_of_his_own() -> None:
    """A master that repeats a step, and a user who has taken the cause away: both failed at once."""
    simulation = slider("-1e4*a.x").start(start={"a.x": 0.1}, most_steps=300)
    begin = simulation.save()
    for _ in range(50):
        simulation.restore(begin)
        simulation.advance(0.05)
    assert simulation.statistics["steps"] > 10 * 300
    held = slider("-k*sign(a.vx)", parameters={"k": {"value": 3.0, "tunable": True}})
    simulation = held.start(start={"a.vx": 0.3}, most_steps=FEW)
    simulation.advance(0.05)
    before = simulation.save()
    with pytest.raises(mbd.StepFailed, match="most_steps"):
        simulation.advance(5.0)
    simulation.restore(before)
    simulation["k"] = 0.0
    simulation.advance(5.0)
    assert simulation["a.vx"] == pytest.approx(0.15, abs=1e-4)


def test_a_law_that_jumps_within_each_step_is_seen() -> None:
    """Every step ends at small negative speeds: twelve million of them went on for a second of motion."""
    simulation = slider("-6634*sign(a.vx) - 2211*sign(a.x + 0.18)").start(most_steps=5000)
    with pytest.raises(mbd.StepFailed, match=r"forces\.hold\[0\]: -6634\*sign.* jumps to and fro"):
        for k in range(1, 101):
            simulation.advance(1e-4 * k)
    assert simulation.statistics["steps"] < 4 * 5000


def test_a_staircase_that_is_climbed_does_not_jump_to_and_fro() -> None:
    """Ten thousand steps of a tenth of a millimetre, which the error control meets one by one."""
    simulation = slider("200*floor(1e4*a.x)*1e-4 - 20*a.x").start(start={"a.vx": 1.0}, tolerance=1e-8, most_steps=500)
    for k in range(1, 201):
        simulation.advance(0.005 * k)
    assert simulation.statistics["steps"] > 5 * 500


def test_events_without_end_are_ended() -> None:
    """Two events that make each other true, a nanosecond apart."""
    states = {"clock": {"rate": "1"}, "count": {"rate": "0"}}
    events = {"tick": {"when": "clock > 1e-6", "set": {"clock": "0", "count": "count + 1"}}}
    with pytest.raises(mbd.StepFailed, match="follow events"):
        slider("0", states=states, events=events).simulate(1.0, 1.0, most_steps=1000)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "many", 2**31])
def test_a_budget_is_a_positive_whole_number(wrong: object) -> None:
    with pytest.raises(mbd.ModelError, match="most_steps must be a positive whole number"):
        slider("0").simulate(1.0, 0.1, most_steps=wrong)


def test_the_command_line_and_fmus_have_it(tmp_path: Path) -> None:
    path = tmp_path / "slider.json"
    path.write_text(json.dumps(text(HOLD)))
    done = CliRunner().invoke(main, ["simulate", str(path), "-t", "1", "--dt", "0.01", "--most-steps", str(FEW)])
    assert done.exit_code == 1 and "forces.hold[0]" in done.output and "jumps to and fro" in done.output
    fmu = mbd.Model.load(path).export_fmu(tmp_path / "slider.fmu", most_steps=FEW)
    with pytest.raises(mbd.StepFailed, match="jumps to and fro"):
        mbd.fmu.simulate(fmu, 1.0, 0.01)
    with pytest.raises(mbd.StepFailed, match="most_steps, 1000, allows more"):
        mbd.fmu.simulate(fmu, 1.0, 0.01, parameters={"solver.most_steps": 1000})


def pathological(number: int) -> str:
    """A force that no step follows for long."""
    draw = np.random.default_rng(number)
    size, rate, place = 10.0 ** draw.uniform(0, 6), 10.0 ** draw.uniform(3, 12), draw.uniform(-0.2, 0.2)
    return str(
        draw.choice(
            [
                f"-{size}*sign(a.vx) - {size / 3}*sign(a.x - {place})",
                f"{size}*sin({rate}*time)",
                f"-{size}*sign(sin({rate}*a.x)) - {size}*sign(a.vx)",
                f"{size}*sin(1/(time - 0.01))",
                f"if(sin({rate}*time*time) > 0, {size}, -{size})",
                f"-{size}*sign(a.x - {place}*sin({rate}*time)) - {size}*a.vx",
                f"{size}*floor({rate}*a.x) - {2 * size}*floor({rate}*a.vx)",
                f"-{size}*abs(a.x)^0.1*sign(a.x) - {size}*sign(a.vx)*abs(a.vx)^0.05",
                f"-{size}*tan({rate}*a.x) - {size}*a.vx",
                f"-{size}*sign(a.vx + 1e-3*sin({rate}*time))",
            ]
        )
    )


def test_pathological_forces_end(counts: Callable[..., int]) -> None:
    """With success or by name, in no more tries than the budget, plus those in which jumps to and fro were found."""
    for number in range(counts(300)):
        force = pathological(number)
        simulation = slider(force).start(most_steps=FEW)
        try:
            for k in range(1, 21):
                simulation.advance(0.05 * k)
        except mbd.StepFailed as error:
            assert "body 'a'" in str(error) or "forces.hold" in str(error), (force, str(error))
        spent = simulation.statistics
        assert spent["steps"] + spent["rejected"] <= 20 * FEW, (number, force, spent)
