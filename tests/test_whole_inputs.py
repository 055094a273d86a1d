"""Inputs that are whole numbers or true and false: what does not fit is refused, and rows have what the FMU got."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pythonfmu import FmuBuilder

import mbdfmu as mbd
from mbdfmu.cosim import System
from mbdfmu.errors import ModelError, StepFailed

SCRIPT = """
from pythonfmu import Boolean, Fmi2Causality, Fmi2Slave, Fmi2Variability, Integer


class Counter(Fmi2Slave):
    def __init__(self, **given):
        super().__init__(**given)
        self.n, self.on, self.twice = 0, False, 0
        discrete = {"variability": Fmi2Variability.discrete}
        self.register_variable(Integer("n", causality=Fmi2Causality.input, start=0, **discrete))
        self.register_variable(Boolean("on", causality=Fmi2Causality.input, start=False, **discrete))
        self.register_variable(Integer("twice", causality=Fmi2Causality.output, **discrete))

    def do_step(self, t, dt):
        self.twice = 2 * self.n if self.on else 0
        return True
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counter")
    (folder / "counter.py").write_text(SCRIPT)
    return Path(FmuBuilder.build_FMU(folder / "counter.py", dest=folder))


def test_a_table_of_whole_numbers_and_of_true_and_false_arrives(counter: Path) -> None:
    inputs = {"n": ([0, 0.5], [3, 4]), "on": ([0, 0.2], [False, True])}
    run = mbd.fmu.simulate(counter, 1.0, 0.1, inputs=inputs)
    assert run["twice"][[1, 4, 10]].tolist() == [0, 6, 8]
    assert run["n"][[1, 10]].tolist() == [3, 4] if "n" in run.columns else True


@pytest.mark.parametrize("value", [1.7, 3e9])
def test_a_number_that_does_not_fit_is_refused(counter: Path, value: float) -> None:
    """1.7 was cut to 1, and 3e9 became a negative number; rows said 1.7."""
    words = "Integer and must (be a whole number|lie in -2147483648 .. 2147483647)"
    with pytest.raises(ModelError, match=words):
        mbd.fmu.simulate(counter, 1.0, 0.1, inputs={"n": ([0, 0.5], [0, value])})
    with pytest.raises((ModelError, StepFailed), match=words):
        mbd.fmu.simulate(counter, 1.0, 0.1, inputs=lambda t: {"n": value if t > 0.5 else 0})
    system = System("one")
    system.add("c", counter)
    with pytest.raises(ModelError, match=f"input c.n: .*{words}"):
        system.simulate(1.0, 0.1, inputs={"c.n": ([0, 0.5], [0, value])})


@pytest.mark.parametrize("factor, start", [(0.5, 3), (2e9, 2)])
def test_a_coupling_whose_product_does_not_fit_ends_by_name(counter: Path, factor: float, start: int) -> None:
    system = System("two")
    system.add("a", counter, inputs={"n": start, "on": True})
    system.add("b", counter)
    system.connect("b.n", "a.twice", factor=factor / 2)
    with pytest.raises(StepFailed, match=r"FMU 'b' at t = .*'n' is Integer and is given .*whole numbers in"):
        system.simulate(1.0, 0.1)
    system = System("two")
    system.add("a", counter, inputs={"n": 3, "on": True})
    system.add("b", counter, inputs={"on": True})
    system.connect("b.n", "a.twice", factor=1.5)
    assert np.array_equal(system.simulate(1.0, 0.1)["b.twice"][-3:], [18, 18, 18])
