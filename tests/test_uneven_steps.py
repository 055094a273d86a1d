"""Steps of uneven sizes, as a master asks for them: no scheme may let errors across the joints grow (theory, 5.10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference import hht

import mbdfmu as mbd

Matrix = NDArray[np.float64]

MEMBERS = (
    [hht.Options(alpha=alpha) for alpha in (-1 / 3, -0.3, -0.2, -0.1, -0.05)]
    + [hht.Options(scheme="generalised-alpha", rho=rho) for rho in (0.0, 0.2, 0.5, 0.8, 0.9)]
    + [hht.Options(scheme="newmark", gamma=gamma, beta=(gamma + 0.5) ** 2 / 4) for gamma in (0.6, 0.8)]
)


def name_of(o: hht.Options) -> str:
    number = {"hht": o.alpha, "newmark": o.gamma}.get(o.scheme, o.rho)
    return f"{o.scheme}{number:+.2f}"


def cycles(count: int, largest: float) -> Iterator[Matrix]:
    """Ratios of steps that end at the size they begin with: two to six, a quarter of them 1."""
    rng = np.random.default_rng(17)
    while count:
        ratios = np.exp(rng.uniform(-np.log(largest), np.log(largest), rng.integers(2, 7)))
        ratios[rng.random(len(ratios)) < 0.25] = 1
        ratios[-1] = 1 / np.prod(ratios[:-1])
        if 1 / largest < ratios[-1] < largest:
            count -= 1
            yield ratios


def radius(ratios: Matrix, step: Callable[[float], Matrix]) -> float:
    """Spectral radius of a cycle, per step; each matrix takes amounts in units of one step to those of the next."""
    product = np.linalg.multi_dot([np.eye(3), *(step(r) for r in reversed(ratios))])
    return float(max(abs(np.linalg.eigvals(product)))) ** (1 / len(ratios))


def across_joints(member: hht.Member, index: int, r: float) -> Matrix:
    """(v, h a, h qdd) in units of the last step to the same in units of this one, which is r times as long (T5.18)."""
    m, _ = member.after(1.0, r)
    v, a, qdd = np.diag([1.0, r, r])
    if index == 2:
        a_new, v_new = -(1 - m.gamma) / m.gamma * a, 0 * v
    else:
        v = v * (r**2 if hht.uneven(1.0, r) and r < 1 else 1.0)
        a_new = -(v + (1 / 2 - m.beta) * a) / m.beta
        v_new = v + (1 - m.gamma) * a + m.gamma * a_new
    qdd_new = ((1 - m.alpha_m) * a_new + m.alpha_m * a - m.alpha_f * qdd) / (1 - m.alpha_f)
    return np.array([v_new, a_new, qdd_new])


def state(member: hht.Member, rate: complex, r: float) -> Matrix:
    """(X, h w, h Xdot) of Xdot = rate X in units of the last step, 1 at the start of a cycle, to those of this one."""
    m, _ = member.after(1.0, r)
    X, w, Xdot = np.diag([1.0, r, r]).astype(complex)
    dw = (1 - m.alpha_f) / (1 - m.alpha_m)
    known_w = (m.alpha_f * Xdot - m.alpha_m * w) / (1 - m.alpha_m)
    X_new = (X + (1 - m.gamma) * w + m.gamma * known_w) / (1 - m.gamma * dw * rate)
    return np.array([X_new, dw * rate * X_new + known_w, rate * X_new])


@pytest.mark.parametrize("options", MEMBERS, ids=name_of)
@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("largest", [5.0, 100.0])
def test_errors_across_joints_decay_in_every_cycle_of_steps(
    options: hht.Options, index: int, largest: float, counts: Callable[..., int]
) -> None:
    member = hht.member(options)
    worst = max(radius(c, lambda r: across_joints(member, index, r)) for c in cycles(counts(10_000), largest))
    assert worst < 0.99


@pytest.mark.parametrize("options", MEMBERS, ids=name_of)
@pytest.mark.parametrize("rate", [-1e9, -10.0, -1.0, -0.1], ids=str)
def test_states_decay_in_every_cycle_of_steps(
    options: hht.Options, rate: float, counts: Callable[..., int]
) -> None:
    """`rate` is that of the state times the first step of a cycle, whose steps then differ."""
    member = hht.member(options)
    for ratios in cycles(counts(5_000), 5.0):
        sizes = np.cumprod(ratios)
        product = np.eye(3, dtype=complex)
        for r, h in zip(ratios, sizes, strict=True):
            product = state(member, rate * h, r) @ product
        assert max(abs(np.linalg.eigvals(product))) < 1


SCHEMES: list[tuple[str, dict[str, Any]]] = [
    *(("hht", {"alpha": alpha, "index": index}) for alpha in (-1 / 3, -0.3, -0.1, -0.05) for index in (2, 3)),
    ("hht", {"form": "printed"}),
    *(("generalised-alpha", {"rho": rho, "index": index}) for rho in (0.0, 0.5, 0.8) for index in (2, 3)),
    ("newmark", {"gamma": 0.6, "beta": 0.3025, "index": 3}),
    *((scheme, {}) for scheme in ("newmark", "trapezoidal", "radau", "welch1", "welch2", "gcp-implicit", "gcp-fv")),
    *((scheme, {}) for scheme in ("dopri5", "dop853", "direct", "baumgarte", "hybrid", "gcp")),
    *((scheme, {"formula": "adams"}) for scheme in ("direct", "baumgarte", "gcp")),
]


@pytest.mark.parametrize(("scheme", "options"), SCHEMES, ids=lambda x: x if isinstance(x, str) else str(x))
@pytest.mark.parametrize("pattern", [(1, 5, 7, 1), (1, 1, 1, 30), "random"], ids=str)
def test_uneven_points_of_communication_leave_the_motion_alone(
    scheme: str, options: dict[str, Any], pattern: Any
) -> None:
    """A double pendulum at a loose tolerance, so that the points alone rule the steps: the schemes' own velocities were
    off by 110 rad/s after 28 ms, and lambda by 6e7.
    """
    rng = np.random.default_rng(5)
    factors = cycle(pattern) if pattern != "random" else iter(lambda: float(np.exp(rng.uniform(0, np.log(100)))), None)
    model = mbd.models.load("double_pendulum")
    simulation = model.start(scheme=scheme, options=options, tolerance=1e-2)
    times = 5e-6 * np.cumsum(list(islice(factors, 300)))
    for t in times:
        simulation.advance(t)
    true = model.start(options={"index": 2}, tolerance=1e-10)
    true.advance(times[-1])
    found, exact = simulation.save(), true.save()
    assert found.v == pytest.approx(exact.v, abs=1e-4)
    for name in ("bar1.omega", "bar2.omega", "hinge1.reaction.x", "hinge2.reaction.y"):
        assert simulation[name] == pytest.approx(true[name], abs=3e-4)  # newmark is of first order
    # The schemes' own lambda has an error of order h after each change of step, which must stay of that order.
    assert found.lam == pytest.approx(exact.lam, abs=3.0)


@pytest.mark.parametrize("members", [("hht", {}), ("hht", {"index": 2}), ("generalised-alpha", {"rho": 0.8})], ids=str)
def test_uneven_steps_are_of_second_order(members: tuple[str, dict[str, Any]]) -> None:
    """The same grid of uneven steps, refined: a loose tolerance lets each step be one."""
    scheme, options = members
    model, errors = mbd.models.load("double_pendulum"), []
    true = model.start(scheme="dop853", tolerance=1e-12)
    true.advance(0.5)
    rng = np.random.default_rng(3)
    grid = np.cumsum(np.exp(rng.uniform(0, np.log(20), 60)))
    grid *= 0.5 / grid[-1]
    for parts in (4, 8, 16):
        simulation = model.start(scheme=scheme, options=options, tolerance=0.1)
        for begin, end in zip([0.0, *grid[:-1]], grid, strict=True):
            for k in range(parts):  # uneven within each part as well
                simulation.advance(begin + (end - begin) * ((k + 1) / parts) ** 1.5)
        assert simulation.statistics["steps"] == pytest.approx(60 * parts, rel=0.02)
        errors.append(float(np.max(np.abs(simulation.save().q - true.save().q))))
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([2.0, 2.0], abs=0.2)
