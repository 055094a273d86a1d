"""The native slave as Python has it: numbers for answers, messages that wait, functions in Python that fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import mbdfmu as mbd
from mbdfmu import _solver
from mbdfmu.analyses import Settings
from mbdfmu.description import Callback
from mbdfmu.fmi.interface import packed
from mbdfmu.fmi.variables import table_of

OK, DISCARD, ERROR = 0, 2, 3
REAL = _solver.Type.real


class Named:
    """A slave of a model, with names for references."""

    def __init__(self, model: mbd.Model) -> None:
        compiled = model._shared()
        table = table_of(compiled.lowered, Settings(), "test")
        self.places = {v.name: v.reference for v in table.variables}
        self.native = _solver.Slave(compiled.lowered.blob, packed(table, "guid", "test"), compiled.functions)

    def begin(self) -> Named:
        answers = [self.native.setup(0.0), self.native.enter_initialization(), self.native.exit_initialization()]
        assert answers == [OK] * 3, self.native.messages()
        return self

    def put(self, **values: float) -> int:
        answer: int = self.native.set([self.places[n] for n in values], REAL, list(values.values()))
        return answer

    def look(self, *names: str) -> list[float]:
        answer, values = self.native.get([self.places[n] for n in names], REAL)
        assert answer == OK, self.native.messages()
        found: list[float] = values
        return found


def pushed(push: Callable[[float, Any, Any], Any]) -> mbd.Model:
    """A mass that a function in Python pushes."""
    model = mbd.Model("pushed")
    model.add("law", Callback(python=push, inputs=("x",)))
    model.add("x", mbd.Coordinate(start=1.0, force="law"))
    model.add_mass("x", 1.0)
    return model


def test_a_slave_moves_as_its_model() -> None:
    model = mbd.models.load("pendulum")
    slave, simulation = Named(model).begin(), model.start()
    for k in range(10):
        assert slave.put(torque=0.1 * k) == slave.native.do_step(0.1 * k, 0.1) == OK
        simulation["torque"] = 0.1 * k
        simulation.advance(0.1 * k + 0.1)
    names = ("time", "angle", "pull")
    assert slave.look(*names) == [simulation[name] for name in names]
    assert (slave.native.model, slave.native.guid, slave.native.tool) == ("pendulum", "guid", "test")
    assert slave.native.time == simulation.time


def test_messages_wait_and_are_given_once() -> None:
    slave = Named(mbd.models.load("pendulum")).begin()
    assert slave.put(torque=float("nan")) == ERROR
    ((answer, category, text),) = slave.native.messages()
    assert (answer, category) == (ERROR, "logStatusError")
    assert "'torque' must be a finite number" in text
    assert slave.native.messages() == []


def test_references_beyond_the_signed_ones_are_the_same_unsigned() -> None:
    slave = Named(mbd.models.load("pendulum")).begin()
    answer, values = slave.native.get([-1], REAL)
    assert answer == ERROR
    assert math.isnan(values[0])
    assert "value reference 4294967295" in slave.native.messages()[0][2]


def test_states_outlive_the_slave_that_saved_them() -> None:
    model = mbd.models.load("pendulum")
    slave, other = Named(model).begin(), Named(model)
    slave.native.do_step(0.0, 0.1)
    answer, state = slave.native.save()
    assert answer == slave.native.do_step(0.1, 0.1) == OK
    expected = slave.look("time", "angle")
    del slave
    assert other.native.restore(state) == other.native.do_step(0.1, 0.1) == OK
    assert other.look("time", "angle") == expected


def test_rates_and_derivatives_are_those_of_the_motion() -> None:
    slave = Named(mbd.models.load("pendulum")).begin()
    angle, speed, torque, alpha = (slave.places[n] for n in ("angle", "speed", "torque", "bar.alpha"))
    answer, rates = slave.native.get_rates([angle, speed], [1, 1])
    assert (answer, rates) == (OK, pytest.approx(slave.look("speed", "bar.alpha"), rel=1e-12))
    answer, (by_torque,) = slave.native.differentiate([alpha], [torque], [2.0])
    assert (answer, by_torque) == (OK, pytest.approx(2.0 * 3, rel=1e-12))  # inertia about the hinge: m l^2/3
    with pytest.raises(_solver.NativeModelError, match="orders"):
        slave.native.get_rates([angle], [])


def test_an_exception_in_a_function_fails_the_step_and_is_told_with_its_traceback() -> None:
    def late(t: float, y: Any, p: Any) -> float:
        if t > 0.3:
            raise ValueError("too late, 100%")
        return -10 * float(y[0])

    slave = Named(pushed(late)).begin()
    assert slave.native.do_step(0.0, 0.2) == OK
    before = slave.look("time", "x")
    assert slave.native.do_step(0.2, 0.5) == DISCARD
    said = [text for _, _, text in slave.native.messages()]
    assert "the step is taken back" in said[0]
    assert "Traceback" in said[1]
    assert "in late" in said[1]
    assert "ValueError: too late, 100%" in said[1]
    assert slave.look("time", "x") == before
    assert slave.native.do_step(0.2, 0.05) == OK


def test_ctrl_c_in_a_function_is_raised_and_takes_the_step_back() -> None:
    def stop(t: float, y: Any, p: Any) -> float:
        if t > 0.3:
            raise KeyboardInterrupt
        return -10 * float(y[0])

    slave = Named(pushed(stop)).begin()
    slave.native.do_step(0.0, 0.2)
    before = slave.look("time", "x")
    with pytest.raises(KeyboardInterrupt):
        slave.native.do_step(0.2, 0.5)
    assert slave.look("time", "x") == before
    assert slave.native.do_step(0.2, 0.05) == OK
