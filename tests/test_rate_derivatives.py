"""Second derivatives of every constraint row: closed forms, programs and differences must say the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from test_spatial_elements import CASES as IN_SPACE
from test_spatial_elements import differences

import mbdfmu as mbd
from mbdfmu.analyses import CompiledModel
from mbdfmu.description import Description, Joint
from mbdfmu.lowering import lower

Vector = NDArray[np.float64]

T = 0.37
EXACT = 1e-12  # two ways to the same numbers, relative to the largest
BY_DIFFERENCES = 1e-7  # five points at 1e-5 leave about 1e-10 of numbers of order one

PLANAR_JOINTS = [name for name, joint in Joint.members().items() if joint.freedoms.planar is not None]
PLANAR = [name for name in mbd.models.names() if mbd.models.load(name).description.dimensions == 2]


def every_level() -> Description:
    """Rows at all levels that are expressions, nonholonomic and with a state among them."""
    data = {
        "format_version": 1,
        "name": "levels",
        "length": 1.0,
        "inputs": {"u": {"unit": "m/s"}},
        "bodies": {
            "a": {"mass": 1.0, "inertia": 0.1, "position": [0.3, 0.2], "angle": 0.4},
            "b": {"mass": 2.0, "inertia": 0.3, "position": [1.0, 0.4], "angle": -0.2},
        },
        "states": {"s": {"rate": "-s + a.x", "start": 0.3}},
        "constraints": {"way": {"value": "a.x*b.y^2 - sin(a.phi)*b.x - 0.2*time^2", "unit": "m"}},
        "motions": {
            "speed": {"of": "a.x*b.phi", "unit": "m", "level": "velocity", "value": "0.3*a.x*s + u*sin(a.phi) + time"},
            "push": {"of": "a.y*b.y", "unit": "m", "level": "acceleration", "value": "sin(time)*b.vx*a.x + s"},
        },
    }  # fmt: skip
    return Description.model_validate(data)


CASES: dict[str, Callable[[], Description]] = {
    **{f"planar {name}": lambda name=name: mbd.models.load(name).description for name in PLANAR},
    **{f"space {name}": make for name, make in IN_SPACE.items()},
    "every level": every_level,
}


class Point:
    """A model at a random state, which need not satisfy the constraints."""

    def __init__(self, description: Description, *, kernels: bool = True) -> None:
        self.m = m = CompiledModel(lower(description, kernels=kernels), allow_python=True)
        rng = np.random.default_rng(m.nv)
        self.q = m.moved(m._native.save().q, rng.uniform(-0.2, 0.2, m.nv))
        self.v, self.a = rng.uniform(-1, 1, m.nv), rng.uniform(-1, 1, m.nv)

    def found(self, a: Vector | None = None) -> list[Vector]:
        return [matrix.toarray() for matrix in self.m.rate_derivatives(T, self.q, self.v, a)]

    def G(self, q: Vector, v: Vector) -> Vector:
        zero = np.zeros(self.m.nc)
        n = self.m.nv
        return self.m.jacobian(T, q, v, np.zeros(n), zero)[n : n + self.m.nc, :n]


def close(found: Vector, wanted: Vector, limit: float) -> None:
    size = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    assert np.max(np.abs(found - wanted), initial=0.0) <= limit * size


@pytest.mark.parametrize("case", CASES)
def test_what_is_differentiated_is_what_rates_are(case: str) -> None:
    p = Point(CASES[case]())
    m, q, v, a = p.m, p.q, p.v, p.a
    if m.nc == 0:
        return
    speed_q, gamma_q, gamma_v = p.found()
    close(speed_q, differences(lambda d: m.rates(T, m.moved(q, d), v)[0], m.nv), BY_DIFFERENCES)
    close(gamma_q, differences(lambda d: m.rates(T, m.moved(q, d), v)[1], m.nv), BY_DIFFERENCES)
    close(gamma_v, differences(lambda d: m.rates(T, q, v + d)[1], m.nv), BY_DIFFERENCES)

    def opposed(q: Vector, v: Vector) -> Vector:
        return m.rates(T, q, v)[1] - p.G(q, v) @ a

    _, with_a_by_q, with_a_by_v = p.found(a)
    close(with_a_by_q, differences(lambda d: opposed(m.moved(q, d), v), m.nv), BY_DIFFERENCES)
    close(with_a_by_v, differences(lambda d: opposed(q, v + d), m.nv), BY_DIFFERENCES)


@pytest.mark.parametrize("case", [case for case in CASES if "vehicle" not in case])  # slow to compile without kernels
def test_kernels_and_programs_agree(case: str) -> None:
    native, symbolic = Point(CASES[case]()), Point(CASES[case](), kernels=False)
    for found, wanted in zip(native.found(native.a), symbolic.found(native.a), strict=True):
        close(found, wanted, EXACT)
