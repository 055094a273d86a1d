"""Models as equations in Modelica: run by rumoca, they do what `simulate` does; what cannot be said is refused."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from reference.force_models import cases, described, element
from reference.modelica import compared, exported, free_places, ramps, read, simulated
from reference.models import link, on
from reference.models import model as planar_model
from reference.spatial_models import JOINTS, RELATIONS, joint_model, relation_model
from test_redundancy import slot_and_pin

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.cli.verbs.export_modelica import STYLES as SPELLED_OUT
from mbdfmu.description import Description, Joint
from mbdfmu.fmi.variables import structured
from mbdfmu.modelica import STYLES, formulas
from mbdfmu.modelica.words import RESERVED, Names, identifier, number, quoted

rumoca = pytest.importorskip("rumoca", reason="rumoca (extra [test]) is not installed")

nightly = pytest.mark.nightly

# ---------------------------------------------------------------- shipped models

# How long the motion can be told apart from rounding: chaotic ones and those with a singular pose end earlier, and some
# take rumoca long.
ENDS = {"andrews": 0.03, "andrews_angles": 0.03, "andrews_stiff": 0.03, "four_bar": 0.5, "four_bar3d": 0.5,
        "stick_slip": 0.5, "gyroscope": 0.3, "stewart": 0.2, "full_vehicle": 0.1, "double_wishbone": 0.3}  # fmt: skip
BY_DAY = ("andrews_angles", "brake_rig", "cart_pendulum", "four_bar", "pendulum", "quarter_car", "rolling_disc",
          "slider_crank", "stick_slip", "top")  # fmt: skip
REFUSED = {
    "bouncing_ball": ["impact 'bounce'"],
    "trebuchet": ["event 'release' changes what is held (joint 'rope')", "event 'brake'", "impact 'trough'"],
}
SHIPPED = [
    pytest.param(name, marks=() if name in BY_DAY else nightly) for name in mbd.models.names() if name not in REFUSED
]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_moves_as_here(name: str, tmp_path: Path) -> None:
    compared(mbd.models.load(name), ENDS.get(name, 1.0), tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_what_equations_cannot_say_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(mbd.ModelError) as found:
        mbd.models.load(name).export_modelica(tmp_path / "x.mo", "equations")
    assert len(found.value.problems) == len(REFUSED[name])
    for problem, words in zip(found.value.problems, REFUSED[name], strict=True):
        assert problem.startswith(words)
        assert problem.endswith("export an FMU, which keeps it")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- every joint and force

PLANAR = [name for name, joint in Joint.members().items() if joint.freedoms.planar is not None]
FIELDS: dict[str, dict[str, Any]] = {"distance": {"length": 0.7}, "rolling_disc": {"radius": 0.4}}
STIFF = ("drag",)  # beyond what an explicit integrator takes
HOLDING = ("joint_friction",)  # moves nothing that is at rest; bristles are stiff


def planar_joint(kind: str) -> Description:
    bodies = {
        "one": {"mass": 1.3, "inertia": 0.4, "position": [0.2, -0.1], "angle": 0.3, "omega": 0.5, "free": True},
        "two": {"mass": 0.7, "inertia": 0.2, "position": [0.6, 0.4], "angle": -0.5, "velocity": [0.3, 1], "free": True},
    }
    joint = link(kind, on("one", 0.3, 0.1, 0.2), on("two", -0.2, 0.3, 0.4), **FIELDS.get(kind, {}))
    return planar_model("joint", bodies=bodies, joints={"joint": joint})


@pytest.mark.parametrize("kind", PLANAR)
def test_every_joint_of_the_plane(kind: str, tmp_path: Path) -> None:
    compared(mbd.Model.from_description(planar_joint(kind)), 0.5, tmp_path, assemble=True)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("ends", ["ground-body", pytest.param("body-body", marks=nightly)])
@pytest.mark.parametrize("kind", JOINTS)
def test_every_joint_of_space(kind: str, ends: str, tmp_path: Path) -> None:
    compared(mbd.Model.from_description(joint_model(kind, ends)), 0.2, tmp_path)


@nightly
@pytest.mark.parametrize("kind", RELATIONS)
def test_every_relation(kind: str, tmp_path: Path) -> None:
    compared(mbd.Model.from_description(relation_model(kind)), 0.2, tmp_path)


def test_no_joint_is_left_out() -> None:
    assert {*PLANAR, *JOINTS, *RELATIONS} == {*Joint.members()}


def under_way(description: Description) -> Description:
    """With bodies that move and turn against each other."""
    motions = ((0.5, -0.3, 0.4), (0.7, -0.2, 0.3)), ((-0.2, 0.6, 0.1), (-0.4, 0.5, 0.8))
    data = json.loads(description.to_json())
    for body, (velocity, omega) in zip(data["bodies"].values(), motions, strict=True):
        planar = description.dimensions == 2
        body |= {"velocity": velocity[: description.dimensions], "omega": omega[2] if planar else omega}
    return Description(**data)


LONG = ("cylinder_box",)  # of formulas that take rumoca minutes


def forces() -> Iterator[Any]:
    for case in cases():
        marks = [nightly] if case.values[0].kind in LONG else []
        yield pytest.param(*case.values, marks=[*case.marks, *marks], id=case.id)


@pytest.mark.nightly
def test_a_contact_with_branches_in_branches_is_written(tmp_path: Path) -> None:
    """A hundred conditions, sixty ways to some roots: variables say where these have values."""
    (case,) = (p.values[0] for p in cases() if p.values[0].kind == "cylinder_box")
    model = mbd.Model.from_description(described(case, element(case, ("one", "two"))))
    assert len(exported(model, tmp_path)) < 1_000_000


def test_what_would_fill_pages_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conditions have no variables; here a page is short."""
    monkeypatch.setattr(formulas, "_UNREADABLE", 500)
    often = " or ".join(f"bar.phi < -0.01*{k} and bar.omega < 0.1*{k}" for k in range(30))
    motor = link("rotational", on("ground"), on("bar"), torque=f"if({often}, 1, 0)")
    with pytest.raises(mbd.ModelError, match=r"force 'motor' cannot be written in Modelica: .* export an FMU"):
        swing(forces={"motor": motor}).export_modelica(tmp_path / "swing.mo", style="equations")
    assert not list(tmp_path.iterdir())


@pytest.mark.by_day(2)
@pytest.mark.parametrize("case", list(forces()))
def test_every_force(case: Any, tmp_path: Path) -> None:
    """Each in a model of two free bodies; from rest where the force moves them."""
    description = described(case, element(case, ("one", "two")))
    if case.kind in HOLDING:
        description = under_way(description)
    solver = "bdf" if case.kind in STIFF or case.kind in HOLDING else "rk-like"
    compared(mbd.Model.from_description(description), 0.3, tmp_path, assemble=True, solver=solver)


# ---------------------------------------------------------------- states, events, tables, the start


def swing(**sections: Any) -> mbd.Model:
    """A pendulum with whatever else."""
    bar = {"mass": 2, "inertia": 0.3, "position": [0.5, 0]}
    hinge = link("revolute", on("ground"), on("bar", -0.5))
    return mbd.Model.from_description(planar_model("swing", bodies={"bar": bar}, joints={"hinge": hinge}, **sections))


def test_an_event_sets_states(tmp_path: Path) -> None:
    model = swing(
        parameters={"lag": {"value": 1.0, "unit": "s"}},
        states={"passed": {"rate": 0}, "level": {"rate": "(bar.omega - level)/lag", "unit": "rad/s"}},
        events={"low": {"when": "bar.phi < -1.5", "set": {"passed": "passed + 1", "level": "0.5*level"}}},
        outputs={"count": {"value": "passed", "unit": "1"}, "shown": {"value": "level"}},
    )
    assert "reinit(passed, 1 + pre(passed));" in exported(model, tmp_path)
    assert model.simulate(1.2, 0.1)["count"][-1] == 1
    compared(model, 1.2, tmp_path)


def test_events_that_set_the_same_state_are_one_when(tmp_path: Path) -> None:
    """A thermostat: what switches on and what switches off."""
    model = swing(
        states={"room": {"rate": "60*heating - room + 5", "start": 19}, "heating": {"rate": 0}, "starts": {"rate": 0}},
        events={
            "cold": {"when": "room < 18 and heating < 0.5", "set": {"heating": 1, "starts": "starts + 1"}},
            "warm": {"when": "room > 22 and heating > 0.5", "set": {"heating": 0}},
        },
        outputs={"count": "starts", "warmth": "room"},
    )
    text = exported(model, tmp_path)
    assert "heating(start" not in text and "heating_start" in text  # the start has one place
    assert "when {cold, warm} then" in text and "cold = room < 18 and heating < 0.5;" in text
    assert model.simulate(1.0, 0.1)["count"][-1] > 1
    compared(model, 0.97, tmp_path)


def test_an_event_sees_what_was_there_before_it(tmp_path: Path) -> None:
    swapped = {"when": "time > 0.5", "set": {"a": "b", "b": "a"}}
    states = {"a": {"rate": 0, "start": 1}, "b": {"rate": 0, "start": 2}}
    model = swing(states=states, events={"swap": swapped}, outputs={"one": "a", "other": "b"})
    result = simulated(exported(model, tmp_path), "swing", 0.97, {})
    assert (result["m.one"][-1], result["m.other"][-1]) == (2, 1)


def test_events_at_the_start_see_each_other(tmp_path: Path) -> None:
    events = {"one": {"when": "bar.phi < 0.5", "set": {"n": "n + 1"}}, "two": {"when": "n > 0.5", "set": {"n": "10*n"}}}
    model = swing(states={"n": {"rate": 0}}, events=events, outputs={"shown": "n"})
    assert model.simulate(0.1, 0.05)["shown"][-1] == 10
    assert simulated(exported(model, tmp_path), "swing", 0.1, {})["m.shown"][-1] == 10


def test_what_events_make_true_follows_at_the_start(tmp_path: Path) -> None:
    """The first event becomes true by the second; the last one, with the one that counts, is true later."""
    events = {
        "next": {"when": "a >= 1", "set": {"b": "b + 1"}},
        "first": {"when": "time < 1", "set": {"a": 1}},
        "last": {"when": "b > 0.5 and time >= 0.5", "set": {"c": "c + 10*b"}},
        "count": {"when": "time >= 0.5", "set": {"b": "b + 2"}},
    }
    states = {name: {"rate": 0} for name in "abc"}
    model = swing(states=states, events=events, outputs={f"now_{name}": name for name in "bc"})
    result, theirs = model.simulate(0.8, 0.1), simulated(exported(model, tmp_path), "swing", 0.8, {})
    for name, value in (("b", 3), ("c", 10)):
        assert result[f"now_{name}"][-1] == theirs[f"m.now_{name}"][-1] == value


def test_many_events_at_once_are_short(tmp_path: Path) -> None:
    """Each doubles what those before it have made, once at the start and once later."""
    events = {f"e{k}": {"when": "time < 0.1 or time > 0.5", "set": {"n": f"n + n + {k}"}} for k in range(12)}
    model = swing(states={"n": {"rate": 0}}, events=events, outputs={"shown": "n"})
    text = exported(model, tmp_path)
    assert len(text) < 20000
    result, theirs = model.simulate(0.8, 0.1), simulated(text, "swing", 0.8, {})
    assert result["shown"][-1] == theirs["m.shown"][-1] > 2**20


def test_an_event_may_occur_again_at_the_start(tmp_path: Path) -> None:
    events = {
        "down": {"when": "a >= 1", "set": {"a": 0, "n": "n + 1"}}, "up": {"when": "a <= 0 and n < 2", "set": {"a": 1}},
    }  # fmt: skip
    model = swing(states={"a": {"rate": 0, "start": 1}, "n": {"rate": 0}}, events=events, outputs={"now": "10*n + a"})
    theirs = simulated(exported(model, tmp_path), "swing", 0.2, {})["m.now"]
    assert set(model.simulate(0.2, 0.1)["now"]) == set(theirs) == {20}  # the first row too


def test_events_that_follow_with_other_parameters_stop_the_text(tmp_path: Path) -> None:
    """Exported with p = 1 nothing occurs at the start; with p = 3 both do, one after the other."""
    events = {"go": {"when": "p > 2", "set": {"n": 1}}, "next": {"when": "n > 0.5", "set": {"m": 1}}}
    states = {name: {"rate": 0} for name in "nm"}
    model = swing(parameters={"p": 1}, states=states, events=events, outputs={"shown": "m"})
    text = exported(model, tmp_path)
    assert simulated(text, "swing", 0.1, {})["m.shown"][-1] == 0
    with pytest.raises(rumoca.SimulationError, match="event 'next' follows from others at the start"):
        simulated(text.replace("p = 1", "p = 3"), "swing", 0.1, {})
    model.export_modelica(tmp_path / "three.mo", "equations", parameters={"p": 3})
    assert simulated((tmp_path / "three.mo").read_text(), "swing", 0.1, {})["m.shown"][-1] == 1


def test_a_first_step_that_fails_keeps_no_model_from_export(tmp_path: Path) -> None:
    states = {"x": {"rate": "1/(0.0005 - time)^2"}, "n": {"rate": 0}}
    model = swing(states=states, events={"full": {"when": "n > 3", "set": {"n": 1}}})
    with pytest.raises(mbd.StepFailed):
        model.simulate(0.01, 0.001)
    assert "when n > 3 then" in exported(model, tmp_path)


def test_a_table_of_what_was_there_before_stays_in_its_event(tmp_path: Path) -> None:
    table = {"x": [0, 1, 2], "y": [0, 3, 1]}
    model = swing(
        tables={"tab": table}, states={"a": {"rate": 1}}, outputs={"shown": "a"},
        events={"e": {"when": "time >= 0.7", "set": {"a": "lookup(tab, a)"}}},
    )  # fmt: skip
    text = exported(model, tmp_path)
    assert "  Integer tab_piece" not in text
    assert simulated(text, "swing", 1, {})["m.shown"][-1] == pytest.approx(2.4)
    assert model.simulate(1, 0.1)["shown"][-1] == pytest.approx(2.4)


def test_an_event_that_reads_what_is_solved_for_says_so(tmp_path: Path) -> None:
    model = swing(
        states={"a": {"rate": 0, "start": 1}}, variables={"v": {"equation": "v^3 + v - 2*a", "start": 1}},
        events={"go": {"when": "time < 1", "set": {"a": "v + 10"}}},
    )  # fmt: skip
    assert "Event go: what it reads is solved for" in exported(model, tmp_path)


@pytest.mark.parametrize(("when", "becomes"), [("bar.phi < 0.5", 5), ("bar.phi > 0.5", 1)])
def test_an_event_may_be_true_at_the_start(when: str, becomes: float, tmp_path: Path) -> None:
    model = swing(
        states={"a": {"rate": 0, "start": 1}}, events={"go": {"when": when, "set": {"a": "a + 4"}}},
        outputs={"shown": "a"},
    )  # fmt: skip
    assert model.simulate(0.1, 0.05)["shown"][-1] == becomes
    assert simulated(exported(model, tmp_path), "swing", 0.1, {})["m.shown"][-1] == becomes


def test_outputs_may_depend_on_parameters_alone(tmp_path: Path) -> None:
    model = swing(parameters={"size": 3.0}, outputs={"area": {"value": "size^2*1.5", "unit": "m2"}, "one": "1"})
    text = exported(model, tmp_path)
    assert text.count(" area") == 2  # its declaration and its equation
    compared(model, 0.2, tmp_path)


def test_conditions_are_numbers_where_they_are_shown(tmp_path: Path) -> None:
    outputs = {"low": "bar.phi < -0.3", "double": "2*(bar.phi < -0.3) + if(bar.phi < -0.3, 0.5, 0)", "wide": "size > 2"}
    model = swing(parameters={"size": 3.0}, outputs=outputs)
    text = exported(model, tmp_path)
    assert "low = (if noEvent(bar_phi < -0.3) then 1 else 0);" in text
    assert simulated(text, "swing", 0.97, {})["m.double"][-1] == 2.5


def test_outputs_may_be_the_same_and_rates_of_what_moves_with_time(tmp_path: Path) -> None:
    markers = {"belt": {"body": "ground", "at": ["sin(3*time)", "2*time"]}}
    model = swing(
        markers=markers, outputs={"one": "belt.vx", "same": "3*cos(3*time)", "up": "belt.vy", "two": "2*bar.x"}
    )
    assert "two = 2*bar_x" in exported(model, tmp_path)
    compared(model, 0.5, tmp_path)


def test_corners_of_a_table_of_time_are_events(tmp_path: Path) -> None:
    """A pulse shorter than any step."""
    pulse = {"x": [5, 5.002, 5.004], "y": [0, 1000, 0]}
    model = swing(tables={"pulse": pulse}, states={"n": {"rate": "lookup(pulse, time)"}}, outputs={"area": "n"})
    text = exported(model, tmp_path)
    assert "pulse_piece = if time < 5 then 0 elseif time < 5.002 then 1 elseif time < 5.004 then 2 else 3;" in text
    assert model.simulate(10, 1)["area"][-1] == pytest.approx(2, rel=1e-4)
    assert simulated(text, "swing", 10, {})["m.area"][-1] == pytest.approx(2, rel=1e-4)


def test_what_jumps_with_time_makes_events(tmp_path: Path) -> None:
    model = swing(outputs={"stair": "floor(5*time)", "bend": "floor(3*bar.phi)"})
    text = exported(model, tmp_path)
    assert "stair = floor(5*time)" in text and "bend = noEvent(floor(3*bar_phi))" in text


def test_a_motion_that_lags_behind_an_input_that_jumps_says_so(tmp_path: Path) -> None:
    """Only what the text is told of the rate of an input moves with it."""
    behind, steady = (
        swing(inputs={"u": {}}, motions={"drive": {"of": "hinge.angle", "value": value, "level": "velocity"}})
        for value in ("0.4*u", "0.4*sin(time)")
    )
    assert "motion 'drive' lags behind u: " in " ".join(exported(behind, tmp_path).split())
    assert "lags behind" not in exported(steady, tmp_path)


def test_an_event_of_time_is_met_exactly(tmp_path: Path) -> None:
    motor = link("rotational", on("ground"), on("bar"), torque="if(time < 0.333, 3, if(time < 0.7, -2, 0))")
    compared(swing(forces={"motor": motor}), 1.0, tmp_path)


@pytest.mark.parametrize("method", ["linear", "akima"])
def test_tables_are_read_within_and_beyond_their_points(method: str, tmp_path: Path) -> None:
    table = {"x": [-1.2, -0.6, -0.1, 0.4], "y": [1.0, -2.0, 0.5, 3.0], "method": method, "extrapolate": "linear"}
    spring = link("rotational", on("ground"), on("bar"), torque="lookup(law, bar.phi)")
    model = swing(tables={"law": {**table, "x_unit": "rad", "y_unit": "N.m"}}, forces={"spring": spring})
    assert "alongCurve(bar_phi, law_knots, law_pieces, 0)" in exported(model, tmp_path)
    compared(model, 1.5, tmp_path)


def test_a_table_yields_to_names_of_the_model(tmp_path: Path) -> None:
    torque = link("rotational", on("ground"), on("bar"), torque="law_knots*lookup(law, bar.phi)")
    table = {"x": [-2, 0, 1], "y": [1, 0, -1]}
    model = swing(tables={"law": table}, parameters={"law_knots": {"value": 2.0, "unit": "N.m"}}, forces={"t": torque})
    compared(model, 0.5, tmp_path)


def test_a_motion_by_an_input_has_its_derivatives(tmp_path: Path) -> None:
    crank = {"drive": {"of": "hinge.angle", "value": "rate*time^2", "unit": "rad"}}
    parameters = {"rate": {"value": 2.0, "unit": "rad/s2"}}
    start = {"outputs": {"torque": {"value": "drive.reaction.force"}}}
    compared(swing(motions=crank, parameters=parameters, **start), 1.0, tmp_path)


def test_the_text_begins_where_parameters_and_start_values_say(tmp_path: Path) -> None:
    model = mbd.models.load("slider_crank")
    given = {"crank_length": 0.25}
    text = exported(model, tmp_path, parameters=given, start={"crank.phi": 1.0})
    assert 'parameter Real crank_length(unit="m", min=0.001) = 0.25' in text
    result = simulated(text, model.name, 0.5, ramps(model))
    inputs = {name: ([0, 0.5], [a, a + 0.5 * b]) for name, (a, b) in ramps(model).items()}
    options: dict[str, Any] = {"inputs": inputs, "scheme": "dop853", "tolerance": 1e-10}
    ours = model.simulate(0.5, 0.025, parameters=given, start={"crank.phi": 1.0}, **options)
    assert result["m.angle"][-1] == pytest.approx(ours["angle"][-1], abs=1e-6)


def held_arm(**more: Any) -> mbd.Model:
    """A bar of a length that its place, a number, does not follow."""
    return mbd.Model.from_description(
        planar_model(
            "arm",
            parameters={"reach": {"value": 0.5, "unit": "m"}},
            bodies={"bar": {"mass": 2, "inertia": 0.3, "position": [0.5, 0.1], "angle": 0.2}},
            joints={"hinge": link("revolute", on("ground"), {"body": "bar", "at": ["-reach", 0]}), **more},
        )
    )


def test_parameters_that_open_a_joint_are_closed_at_the_start(tmp_path: Path) -> None:
    """The angle stays, the place follows."""
    text = exported(held_arm(), tmp_path, assemble=True)
    angle = simulated(text, "arm", 0.1, {})["m.bar_phi"][0]
    longer = simulated(text, "arm", 0.1, {}, parameters={"reach": 0.6})
    assert longer["m.bar_phi"][0] == angle
    assert longer["m.bar_x"][0] == pytest.approx(0.6 * math.cos(angle))
    assert longer["m.bar_y"][0] == pytest.approx(0.6 * math.sin(angle))


def test_parameters_with_which_nothing_closes_stop_the_run(tmp_path: Path) -> None:
    rope = link("distance", on("ground", 2), on("bar"), length=1.6)
    text = exported(held_arm(rope=rope), tmp_path, assemble=True)
    simulated(text, "arm", 0.1, {}, parameters={"reach": 0.45})
    with pytest.raises(Exception):  # noqa: B017  # rumoca's own
        simulated(text, "arm", 0.1, {}, parameters={"reach": 0.2})


def test_what_parameters_decide_in_a_branch_of_what_moves_is_no_parameter(tmp_path: Path) -> None:
    """A root that two formulas share, which has a value in their branches only."""
    root = "sqrt(k - 2)^3*k"
    outputs = {"one": f"if(bar.phi < -0.2, {root} + bar.phi, 2)", "two": f"if(bar.phi < -0.2, bar.x*{root}, 3)"}
    model = swing(parameters={"k": 3.0}, outputs=outputs)
    assert "output_1 = if noEvent(bar_phi < -0.2) then " in exported(model, tmp_path)
    compared(model, 0.5, tmp_path)


def test_what_an_event_decides_from_before_stays_in_its_when(tmp_path: Path) -> None:
    """What both values share has one where `pre(a)` is above 1, which nothing outside of the `when` may ask."""
    values = {name: f"if(a > 1, 2*sqrt(-bar.phi)^3 + {k}, 0)" for k, name in enumerate("ab")}
    states = {"a": {"rate": 0, "start": 2}, "b": {"rate": 0}}
    events = {"e": {"when": "time >= 0.3", "set": values}}
    compared(swing(states=states, events=events, outputs={"one": "a", "two": "b"}), 0.5, tmp_path)


def test_what_many_branches_share_is_written_once(tmp_path: Path) -> None:
    """A root below thirty conditions, and a root of that."""
    branches = " + ".join(f"if(bar.phi < -0.01*{k}, {k}*sqrt(-bar.phi)^3, 0)" for k in range(1, 30))
    twice = " + ".join(f"if(bar.phi < -0.01*{k}, {k}*sqrt(1 + sqrt(-bar.phi)), 0)" for k in range(1, 30))
    model = swing(outputs={"one": branches, "two": twice})
    text = exported(model, tmp_path)
    assert text.count("sqrt(") == 2
    assert len(text) < 15000
    compared(model, 0.5, tmp_path)


# ---------------------------------------------------------------- parameters

FOLLOWING = ("pendulum", "slider_crank", "slider_crank3d", "four_bar3d", "quarter_car", "rolling_disc",
             "andrews_angles")  # fmt: skip
AT_ONCE = ("full_vehicle",)  # each run takes minutes


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", [name if name in FOLLOWING else pytest.param(name, marks=nightly)
                                  for name in mbd.models.names() if name not in REFUSED])  # fmt: skip
def test_a_shipped_model_follows_each_of_its_parameters(name: str, counts: Any, tmp_path: Path) -> None:
    """Changed by 7 % in the text. Where joints are open then (Andrews' mechanism), assembly moves everything a little,
    the text what is no freedom of its own; rumoca closes gaps to 1e-9 m, which short links make 1e-7 rad."""
    model = mbd.models.load(name)
    own = [s.name for s in model.symbolic.parameters if s.name in model.description.parameters]
    text = exported(model, tmp_path)
    chosen = own[: counts(len(own), 0.1)] + [one for one in own if one == "speed"]
    for names in [own] if name in AT_ONCE else [[one] for one in chosen]:
        changed = {one: 1.07 * float(model.symbolic.signals[one].start or 1) for one in names}
        there = {one: value for one, value in changed.items() if has_parameter(text, one)}
        without = {one: value for one, value in changed.items() if one not in there}
        assert not without or runs_alike(model, without), without
        if there:
            opens = name.startswith("andrews")
            kept, within = (free_places(model, there), 1e-4) if opens else ({}, 1e-5)
            end = 0.02 if name in AT_ONCE else min(ENDS.get(name, 0.1), 0.1)
            compared(model, end, tmp_path, parameters=there, start=kept, within=within)


def has_parameter(text: str, name: str) -> bool:
    return bool(re.search(rf"parameter [^;]* {identifier(name)}\b", text))


def runs_alike(model: mbd.Model, changed: dict[str, float]) -> bool:
    """What a text does not have makes no difference here either."""
    ends = [model.simulate(0.1, 0.1, record="*", parameters=given) for given in ({}, changed)]
    names = [name for name in ends[0].names() if name not in changed]
    return all((ends[0][name] == ends[1][name]).all() for name in names)


@pytest.mark.parametrize("style", ["equations", "multibody"])
def test_a_start_in_a_singular_pose_is_refused(style: str, tmp_path: Path) -> None:
    """A level parallelogram: what repeats there does not repeat a moment later."""
    bodies: dict[str, Any] = {"bar": {"mass": 1, "inertia": 0.1, "position": [1.5, 0], "velocity": [0, 2]}}
    joints = {}
    for name, foot in (("a", 0), ("b", 1)):
        place = {"position": [foot + 0.5, 0], "velocity": [0, 1], "omega": 2}
        bodies[name] = {"mass": 1, "inertia": 0.1, **place}
        joints[f"foot_{name}"] = link("revolute", on("ground", foot), on(name, -0.5))
        joints[f"head_{name}"] = link("revolute", on(name, 0.5), on("bar", foot - 0.5))
    model = mbd.Model.from_description(planar_model("level", bodies=bodies, joints=joints))
    with pytest.raises(mbd.ModelError, match=r"joint 'head_b' \(x\) repeats .* at the start, but not a moment later"):
        model.export_modelica(tmp_path / "level.mo", style)


def test_the_reaction_of_a_joint_that_rests_is_nothing(tmp_path: Path) -> None:
    latch = link("revolute", on("ground", 1.0), on("bar", 0.5), active=False)
    bar = {"mass": 2, "inertia": 0.3, "position": [0.5, 0]}
    joints = {"hinge": link("revolute", on("ground"), on("bar", -0.5)), "latch": latch}
    outputs = {"pull": {"value": "latch.reaction.x"}}
    model = mbd.Model.from_description(planar_model("latched", bodies={"bar": bar}, joints=joints, outputs=outputs))
    assert "pull = 0" in exported(model, tmp_path).replace("-0", "0")


# ---------------------------------------------------------------- text


def test_the_same_model_gives_the_same_text(tmp_path: Path) -> None:
    first, second = (exported(mbd.models.load("double_wishbone"), tmp_path) for _ in range(2))
    assert first == second
    assert not [line for line in first.splitlines() if len(line) > 120 and '"' not in line]  # texts are not broken
    assert not [line for line in first.splitlines() if line.endswith(" ")]


def test_hostile_names_and_texts_are_words_of_modelica(tmp_path: Path) -> None:
    model = mbd.Model("model", text='A "quoted" \\ text\nwith <b> & more', gravity=[0, -9.81])
    model.add("within", mbd.Parameter(value=1.0, unit="kg", text='"of" the \\ bodies'))
    model.add("end", mbd.Body(mass="within", inertia=0.1, position=[0.5, 0]))
    model.add("end_x", mbd.Body(mass="within", inertia=0.1, position=[1.5, 0], free=True))
    model.add("equation", mbd.joints.Revolute(i=mbd.Marker(body="ground"), j=mbd.Marker(body="end", at=[-0.5, 0])))
    model.add("when", mbd.Output(value="end.phi"))
    model.add("algorithm", mbd.Output(value="2*end.phi + 1"))
    compared(model, 0.5, tmp_path, signals=["when", "algorithm"])


def test_names_are_valid_and_given_once() -> None:
    names = Names(["crank_phi"])
    assert [names.new(n) for n in ("crank.phi", "crank_phi", "der(x)", "der(x,2)", "Z[1]", "2nd", "model", "...")] == [
        "crank_phi_2", "crank_phi_3", "der_x", "der2_x", "Z_1", "n2nd", "model_", "model__2",
    ]  # fmt: skip
    names = Names((), ["front.load", "front_load"])
    assert [names.new(n) for n in ("front.load", "front_load")] == ["front_load_2", "front_load"]
    assert not RESERVED & {identifier(word) for word in RESERVED}


def test_numbers_and_strings_are_written_as_modelica_has_them() -> None:
    values = (0.0, -2.0, 0.1, 1e20, 1e-7, 1 / 3, 2.1e11)  # the last one is no Integer of 32 bits
    written = ["0", "-2", "0.1", "1e20", "1e-07", "0.3333333333333333", "210000000000.0"]
    assert [number(x) for x in values] == written
    assert quoted('a "b" \\ c\td') == '"a \\"b\\" \\\\ c d"'


@pytest.mark.by_day(1)
@pytest.mark.parametrize("style", ["equations", "multibody"])
def test_text_grows_with_the_number_of_bodies(style: str, tmp_path: Path) -> None:
    """A thousand bodies take four times what a quarter of them takes, and some rounding of clocks."""
    costs, sizes = [], []
    for links in (250, 1000):
        model = mbd.models.load("chain", N=links)
        model.start()
        spent = []
        for _ in range(3):
            begun = time.process_time()
            text = exported(model, tmp_path, style)
            spent.append(time.process_time() - begun)
        sizes.append(len(text))
        costs.append(min(spent))
    assert sizes[1] < 4.5 * sizes[0]
    assert costs[1] < 6 * costs[0]


# ---------------------------------------------------------------- the interface of the FMU


@pytest.mark.parametrize("name", mbd.models.names())
def test_the_wrapper_says_what_the_fmu_has(name: str, tmp_path: Path) -> None:
    model = mbd.models.load(name)
    text = exported(model, tmp_path, "wrapper")
    read(text)
    findings = rumoca.validate_source(text)
    assert not [f for f in findings if "warning" not in str(f)], findings
    assert text.startswith(f"partial block {identifier(name)}_fmu ")
    for signal in model.symbolic.signals.values():
        kind = {"input": "SignalIn", "output": "SignalOut", "parameter": "parameter Real"}.get(signal.causality)
        if kind:
            assert f"  {kind} {identifier(structured(signal.name))}" in text


def test_the_wrapper_has_the_parameters_that_are_given(tmp_path: Path) -> None:
    model = mbd.models.load("pendulum")
    assert ") = 2 " in exported(model, tmp_path, "wrapper", parameters={"length": 2.0}).partition(" length(")[2]
    with pytest.raises(mbd.ModelError, match="nonsense"):
        exported(model, tmp_path, "wrapper", parameters={"nonsense": 2.0})


# ---------------------------------------------------------------- use


def test_wrong_use_is_refused_with_the_cure(tmp_path: Path) -> None:
    model = mbd.models.load("pendulum")
    with pytest.raises(mbd.ModelError) as found:
        model.export_modelica(tmp_path / "x.txt", "equation", signals=["bar.phy"])
    assert found.value.problems == [
        f"{tmp_path / 'x.txt'}: the name of a Modelica file must end in .mo",
        f"style must be one of {', '.join(STYLES)}, found 'equation'; did you mean 'equations'?",
        "no signal matches 'bar.phy'; did you mean 'bar.phi'?",
    ]
    assert not list(tmp_path.iterdir())


def test_the_command_writes_what_python_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["export-modelica", "pendulum", "--style", "equations", "--set", "length=2"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("wrote pendulum.mo (")
    written = (tmp_path / "pendulum.mo").read_text(encoding="utf-8")
    assert written == exported(mbd.models.load("pendulum"), tmp_path, parameters={"length": 2.0})


def test_a_model_without_python_is_needed(tmp_path: Path) -> None:
    model = swing(callbacks={"law": {"python": "math:sin", "inputs": ["bar.phi"]}})
    model._allow_python = True  # as `Model.load` sets it; nothing is called
    with pytest.raises(mbd.ModelError, match="callback 'law' calls Python, for which Modelica has no equations"):
        model.export_modelica(tmp_path / "x.mo", "equations")


def test_the_styles_of_the_command_are_those_of_the_registry() -> None:
    assert set(STYLES) <= set(SPELLED_OUT)


def test_a_row_left_out_that_no_longer_repeats_others_ends_the_run_by_name(tmp_path: Path) -> None:
    """The text keeps its rows: once the slot has turned they no longer hold the body, which left its pin in silence."""
    started = {"start": {"A.omega": 2.0}}
    text = exported(slot_and_pin("slot"), tmp_path, **started)
    with pytest.raises(Exception, match=r"joint 'pin' \(y\) repeats what other joints hold at the start, and no"):
        simulated(text, "slot_and_pin", 5.0, {})
    simulated(exported(slot_and_pin("pin"), tmp_path, **started), "slot_and_pin", 5.0, {})
    spelled_out = exported(slot_and_pin("slot"), tmp_path, "multibody", **started)
    assert "joint 'pin' (y) repeats what other joints hold at the start" in spelled_out
