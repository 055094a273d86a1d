"""Arguments of types that nobody expects end with a ModelError that names them, never with a TypeError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

import mbdfmu as mbd
from mbdfmu.cli import main
from mbdfmu.errors import ModelError

Call = Callable[[mbd.Model], Any]
NAMED = r"a file must be named by a text or a Path, found None"


def ran(model: mbd.Model, **arguments: Any) -> mbd.Result:
    return model.simulate(0.1, 0.05, **arguments)


CASES: dict[str, tuple[Call, str]] = {
    "a family": (lambda m: mbd.models.load("chain", N="a"), r"chain: N must be a whole number, as in N=10, found 'a'"),
    "a family of halves": (lambda m: mbd.models.load("ring", cords=1.5), r"ring: cords must be a whole number"),
    "a shipped model": (lambda m: mbd.models.load(3), r"a shipped model is loaded by its name, found 3; known: andr"),
    "a controller": (lambda m: mbd.controllers.load(None), r"a controller is loaded by its name, found None; known"),
    "a model file": (lambda m: mbd.Model.load(None), NAMED),
    "bytes": (lambda m: mbd.Model.load(b"a.json"), r"found b'a.json'"),
    "an FMU to write": (lambda m: m.export_fmu(None), NAMED),
    "Modelica to write": (lambda m: m.export_modelica(None), NAMED),
    "an FMU to read": (lambda m: mbd.fmi.info(None), NAMED),
    "a result to read": (lambda m: mbd.Result.read(None), NAMED),
    "a result to write": (lambda m: ran(m).write(None), NAMED),
    "progress": (lambda m: ran(m, progress=3), r"progress must be a function that is told the time, found 3"),
    "an end": (lambda m: m.simulate(t_end=True), r"t_end must be a positive number of seconds, found True"),
    "an interval": (lambda m: m.simulate(1.0, True), r"step_output must be a positive number of seconds, found True"),
    "a step": (lambda m: ran(m, step=True), r"step must be a positive number, found True"),
    "settings": (lambda m: m.linearize(settings={}), r"'settings'; give one by one what there is: scheme, options"),
    "a place": (lambda m: m.linearize(at=-1), r"at must be a time from 0 s on, found -1 s; a model begins at 0 s"),
    "no place": (lambda m: m.linearize(at=float("nan")), r"at must be a time from 0 s on, found nan s"),
    "held inputs": (lambda m: m.linearize(input_values=3), r"input_values must be a mapping name -> value, found 3"),
    "a held input": (lambda m: m.linearize(input_values={3: 1.0}), r"has no input 3"),
    "linear inputs": (lambda m: m.linearize(inputs=3), r"inputs must be names or patterns such as 'crank.\*', found 3"),
    "linear outputs": (lambda m: m.linearize(outputs=[3]), r"outputs must be names or patterns .* found \[3\]"),
    "parameters": (lambda m: ran(m, parameters={3: 1.0}), r"parameters: names must be texts, found 3"),
    "a start": (lambda m: ran(m, start={3: 1.0}), r"start: names must be texts, found 3"),
    "options": (lambda m: ran(m, options={3: 1}), r"3"),
    "inputs": (lambda m: ran(m, inputs={3: ([0], [1])}), r"3"),
    "record": (lambda m: ran(m, record=[3]), r"record must be names or patterns such as 'crank.\*', found 3"),
    "signals": (lambda m: m.signals(3), r"pattern must be a text such as 'crank.\*', found 3"),
    "a signal": (lambda m: ran(m)[3], r"a signal is asked for by its name, found 3"),
    "signals at once": (lambda m: ran(m)[["angle", "speed"]], r"by its name, found \['angle', 'speed'\]"),
    "a selection": (lambda m: ran(m).select(3), r"signals are chosen by names or patterns such as 'crank.\*', found 3"),
    "a picture": (lambda m: ran(m).plot(3), r"signals are chosen by names or patterns"),
    "a way to rest": (lambda m: m.equilibrium(method=3), r"3"),
    "platforms": (lambda m: m.export_fmu("a.fmu", platforms=3), r"platforms must be a name or several, found 3"),
    "actuators": (lambda m: m.inverse_dynamics(ran(m), actuators=3), r"actuators must be a name or several, found 3"),
    "an actuator": (lambda m: m.inverse_dynamics(ran(m), actuators=[3]), r"the model has no input 3"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_name_no_file_and_no_number_is_refused_by_name(case: str) -> None:
    call, said = CASES[case]
    with pytest.raises(ModelError, match=said):
        call(mbd.models.load("pendulum"))


def test_a_single_name_is_selected() -> None:
    result = ran(mbd.models.load("pendulum"))
    assert result.select("angle") == result.select(["angle"]) == ["angle"]
    with pytest.raises(ModelError, match="no signal is named 'angel'; did you mean 'angle'") as caught:
        result.select("angel")
    assert len(caught.value.problems) == 1


def test_the_command_line_names_a_time_before_the_start() -> None:
    done = CliRunner().invoke(main, ["linearize", "pendulum", "--at", "-1"])
    assert done.exit_code == 2 and "at must be a time from 0 s on, found -1 s" in done.output
