"""[Haug97]: implicit coordinate partitioning with the full Jacobian against that of Fisette and Vaneghem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import takewhile
from math import ceil, floor, inf, log10, pi
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbdfmu.description import Body, Description, Marker
from mbdfmu.errors import StepFailed
from mbdfmu.facade import Model
from mbdfmu.forces import Translational
from mbdfmu.joints import PointOnLine, Revolute
from mbdfmu.reproduce.items import EXACT, Between, Item, Lost, Paper, Row, Within
from mbdfmu.reproduce.runs import history, order, shipped, started

Vector = NDArray[np.float64]
FULL, SIMPLIFIED = "gcp-implicit", "gcp-fv"
SCHEMES = {FULL: "IMPL", SIMPLIFIED: "FV"}
OPTIONS = {"newton_tolerance": 1e-10, "max_iterations": 100}  # both are lost; the start is the last acceleration
TWO_DIGITS = Within(0.02)
COUNTS = Within(0.01, relative=False)  # means of some hundred steps, printed with two decimals


class Run(NamedTuple):
    """Iterations of every step, and where the first angle ends."""

    counts: list[int]
    angle: float

    @property
    def mean(self) -> float:
        """Iterations a step."""
        return float(np.mean(self.counts))

    @property
    def most(self) -> int:
        """Iterations of the worst step."""
        return max(self.counts)


def run(model: Model, end: float, step: float, scheme: str, signal: str) -> Run:
    """Fixed steps to the end, counted."""
    count = ceil(end / step * (1 - 1e-9))
    simulation = model.start(scheme=scheme, step=step, options=OPTIONS)
    done = [0]
    for k in range(count):
        simulation.advance((k + 1) * step)
        done.append(int(simulation.statistics["iterations"]))
    return Run([int(n) for n in np.diff(done)], float(simulation[signal]))


# ---------------------------------------------------------------- the seven-body mechanism

END = 0.035
EXACT_BETA = 0.2896449345957885  # at the end, by an independent run in quadruple precision
ERRORS = {5e-5: "8.8e-7", 1e-4: "3.5e-6", 2e-4: "1.4e-5", 5e-4: "8.8e-5", 1e-3: "3.6e-4"}
ITERATIONS = {  # by step: mean and most of both, from an independent program
    1e-4: (("2.64", "3"), ("3.45", "5")),
    5e-4: (("3.11", "4"), ("4.49", "10")),
    1e-3: (("4.17", "5"), ("5.51", "19")),
}


@cache
def andrews(step: float, scheme: str) -> Run:
    """Andrews' mechanism with k = 30,000 and c = 100,000."""
    return run(shipped("andrews_stiff"), END, step, scheme, "beta")


def _errors() -> Iterator[Row]:
    angles = {step: andrews(step, FULL).angle for step in ERRORS}
    for step, expected in ERRORS.items():
        yield Row(label=f"h = {step:g}: error of beta", expected=expected, ours=abs(angles[step] - EXACT_BETA),
                  check=TWO_DIGITS)  # fmt: skip
    halved = (2e-4, 1e-4, 5e-5)
    found = order(*(angles[step] for step in halved))
    yield Row(label="order, steps 2e-4 to 5e-5", paper="2", ours=found, check=Within(0.02, relative=False))
    for step in (1e-4, 1e-3):
        yield Row(label=f"h = {step:g}: digits in which FV is IMPL", ours=alike(step), check=Between(low=9),
                  remark="at most nine are counted: the same equations are solved")  # fmt: skip


def alike(step: float) -> int:
    """Digits after the point in which both angles agree, up to nine."""
    apart = abs(andrews(step, SIMPLIFIED).angle - andrews(step, FULL).angle)
    return min(9, floor(-log10(max(apart, 1e-15))))


def _iterations() -> Iterator[Row]:
    for step, both in ITERATIONS.items():
        for (scheme, name), (mean, most) in zip(SCHEMES.items(), both, strict=True):
            found = andrews(step, scheme)
            yield Row(label=f"h = {step:g}, {name}: mean", expected=mean, ours=found.mean, check=COUNTS)
            yield Row(label=f"h = {step:g}, {name}: most", expected=most, ours=found.most)
    ratio = andrews(1e-4, FULL).mean / andrews(1e-4, SIMPLIFIED).mean
    yield Row(label="h = 0.0001: IMPL over FV (Fig. 11)", paper="0.5", expected="0.77", ours=ratio,
              remark='"half or less" holds for the worst step at h = 1e-3 only', check=COUNTS)  # fmt: skip


# Largest steps in ms that an independent program found for a limit of iterations: IMPL, FV.
LARGEST = {5: ("1.00", "0.10"), 6: ("1.40", "0.20"), 8: ("1.60", "0.35"), 10: ("1.70", "0.50"), 15: ("1.70", "0.75"),
           25: ("1.70", "2.90")}  # fmt: skip
SCANNED = [k * 5e-5 for k in range(1, 61)]


def largest(scheme: str, limit: int) -> float:
    """In ms, the step up to which none of the steps scanned needs more iterations; 0 where the first one does."""
    allowed = takewhile(lambda step: _most(step, scheme) <= limit, SCANNED)
    return 1e3 * max(allowed, default=0.0)


@cache
def _most(step: float, scheme: str) -> float:
    """Iterations of the worst step; infinite where one does not converge."""
    try:
        return andrews(step, scheme).most
    except StepFailed:
        return inf


def _largest() -> Iterator[Row]:
    remarks = {(5, "IMPL"): "FV's step is that of a limit of 5", (25, "FV"): "the scan ends at 3 ms"}
    for limit, both in LARGEST.items():
        for (scheme, name), expected in zip(SCHEMES.items(), both, strict=True):
            paper = {"IMPL": "1.8", "FV": "0.1"}[name] if limit == 5 else ""
            yield Row(label=f"limit {limit}, {name}: largest step, ms", paper=paper, ours=largest(scheme, limit),
                      expected=expected if name == "IMPL" or not paper else "", check=Within(0.101, relative=False),
                      remark=remarks.get((limit, name), ""))  # fmt: skip
    yield Row(label="limit 5: IMPL over FV", paper="1.3 - 18", ours=largest(FULL, 5) / largest(SIMPLIFIED, 5),
              check=Between(1.3, 18), remark="from a limit of 25 on FV takes the longer steps")  # fmt: skip


def _draw_largest(figure: Any) -> None:
    """The most iterations of a step over its size."""
    axes = figure.add_subplot()
    for scheme, name in SCHEMES.items():
        counts = [min(_most(step, scheme), 60) for step in SCANNED]
        axes.plot([1e3 * step for step in SCANNED], counts, "o-", label=name)
    axes.set(xlabel="step [ms]", ylabel="most iterations", title="[Haug97] Table 5, seven bodies", ylim=(0, 30))


# ---------------------------------------------------------------- eq. 29

STEPS = {  # long enough that all terms count
    "pendulum": 0.05, "double_pendulum": 0.02, "slider_crank": 0.02, "four_bar": 0.02, "andrews_stiff": 5e-4,
    "andrews_angles": 2e-4,
}  # fmt: skip
Reduced = Callable[[Vector], tuple[list[int], Vector, Vector]]


def solved(equations: Reduced, w: Vector) -> tuple[Vector, int]:
    """The solution from w on, and Newton's corrections until they are below 1e-9 of the first accelerations."""
    scale = float(np.max(np.abs(w))) + 1
    count, size = 0, scale
    while size > 1e-9 * scale and count < 100:
        _, missing, J = equations(w)
        change = np.linalg.solve(J, missing)
        w, size, count = w - change, float(np.max(np.abs(change))), count + 1
    return w, count


def first_step(name: str, *, simplified: bool = False) -> tuple[Reduced, Vector]:
    """The equations of the first step of a model, and where the iteration begins."""
    model, h = shipped(name).compile(), STEPS[name]
    _, _, a, _ = model.start(assemble=True)
    unknowns, _, _ = model.reduced(h, np.zeros(model.nv - model.nc))
    return partial(model.reduced, h, simplified=simplified), a[unknowns]


def digits_by_differences(name: str) -> int:
    """Digits, up to six, in which the Jacobian at the solution of a step is that of five-point differences."""
    equations, w = first_step(name)
    w, _ = solved(equations, w)
    J, step = equations(w)[2], 1e-3 * (float(np.max(np.abs(w))) + 1)
    columns = []
    for d in np.eye(len(w)) * step:
        ends = [equations(w + k * d)[1] for k in (-2, -1, 1, 2)]
        columns.append((ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step))
    apart = np.max(np.abs(np.array(columns).T - J)) / np.max(np.abs(J))
    return min(6, floor(-log10(max(float(apart), 1e-15))))


def _jacobian() -> Iterator[Row]:
    remark = "with what eqs. 3, 24, 25, 28, 29 and 33 to 36 lost restored"
    for name in STEPS:
        yield Row(label=f"{name}: digits of eq. 29 by differences", ours=digits_by_differences(name),
                  check=Between(low=6), remark=remark)  # fmt: skip
    for name, check, how in (("IMPL", Between(high=5), "quadratic"), ("FV", Between(low=6), "linear")):
        _, count = solved(*first_step("andrews_stiff", simplified=name == "FV"))
        yield Row(label=f"andrews_stiff, first step, {name}: corrections to 1e-9", ours=count, check=check, remark=how)


# ---------------------------------------------------------------- the others, with values assumed for those lost


@cache
def slider_crank() -> Model:
    """4.2 with what Tables 3 and 4 still say, half lengths and an angle of 11 pi/6; spring and gravity are assumed."""
    model = Model("haug97_slider_crank", gravity=(0, -9.81), length=1)
    for name, mass, half, place, angle in (
        ("crank", 3.0, 0.3, (0.0, 0.3), pi / 2),
        ("rod", 9.0, 0.6, (0.6 * np.cos(pi / 6), 0.3), 11 * pi / 6),
    ):
        model.add(name, Body(mass=mass, inertia=mass * half**2 / 3, position=place, angle=angle))
    model.add("pin", Revolute(i=Marker(body="ground"), j=Marker(body="crank", at=(-0.3, 0))))
    model.add("joint", Revolute(i=Marker(body="crank", at=(0.3, 0)), j=Marker(body="rod", at=(-0.6, 0))))
    tip = Marker(body="rod", at=(0.6, 0))
    model.add("guide", PointOnLine(i=Marker(body="ground"), j=tip))
    model.add(
        "spring", Translational(i=Marker(body="ground", at=(2, 0)), j=tip, stiffness=1e4, damping=1e3, free_length=1.05)
    )
    return model


def _others() -> Iterator[Row]:
    remark = "spring, damper and gravity are assumed"  # a dozen steps: two iterations more or less are 0.2
    model, step, signal = slider_crank(), 0.0086, "crank.phi"
    for (scheme, name), expected in zip(SCHEMES.items(), ("3.1", "4.9"), strict=True):
        found = run(model, 0.1, step, scheme, signal)
        yield Row(label=f"slider-crank, h = {step:g}, {name}: mean", expected=expected, ours=found.mean, remark=remark,
                  check=Within(0.2, relative=False))  # fmt: skip


# ---------------------------------------------------------------- Table 4


def _table4() -> Iterator[Row]:
    model = slider_crank().compile()
    start = model.start()
    remark = "the printed centre, 0.6 cos 30 deg and 0.3, is that of 11 pi/6; lengths are half lengths"
    for label, angle, expected in (("3 pi/2, as printed", 3 * pi / 2, "0.5196"), ("11 pi/6", 11 * pi / 6, "0")):
        gap = np.abs(model.constraints(0.0, np.array([*start[0][:5], angle]))).max()
        yield Row(label=f"angle of body 2 {label}: largest gap of a joint, m", expected=expected, ours=float(gap),
                  check=Within(1e-4, relative=False), remark=remark)  # fmt: skip
    G = model.jacobian(0.0, *start, (1, 0, 0)).toarray()[model.nv :, : model.nv]
    freedom = model.nv - int(np.linalg.matrix_rank(G))
    yield Row(label="degrees of freedom", paper="2", expected="1", ours=Fraction(freedom), check=EXACT,
              remark="two hinges and a tip on the x axis; the sentence is that of the double pendulum")  # fmt: skip


# ---------------------------------------------------------------- explicit limits

DURATION = 0.1
LIMITS = {"abm2": ("AB2/AM2", 2.0), "mampc2": ("AB2/AM3", 2.4)}  # formula: name, limit of h |lambda|
REFERENCE = {2800.0: 6.092620363826403, 5e4: 6.092610420282832}  # bar1.phi at the end, computed elsewhere


@cache
def pendulum(damping: float) -> Model:
    """The stiff double pendulum; its lost data are replaced by assumed ones."""
    data = shipped("stiff_double_pendulum").description.to_data()
    data["parameters"]["c2"]["value"] = damping
    return Model.from_description(Description(**data))


def fastest(model: Model) -> float:
    """|lambda| of the fastest decay at the start: M x'' + C x' + K x = 0 in the null space of G."""
    compiled = model.compile()
    at = (0.0, *compiled.start())
    nv = compiled.nv
    mass, drag, stiff = (compiled.jacobian(*at, weights).toarray() for weights in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    free = np.linalg.svd(mass[nv:, :nv])[2][compiled.nc :].T
    m, c, k = (free.T @ matrix[:nv, :nv] @ free for matrix in (mass, drag, stiff))
    n = free.shape[1]
    first = np.linalg.solve(m, np.hstack([k, c]))
    return float(np.abs(np.linalg.eigvals(np.vstack([np.eye(n, 2 * n, n), -first]))).max())


def survives(damping: float, formula: str, step: float) -> bool:
    """Whether the pendulum moves as it should, nearly."""
    simulation = started(pendulum(damping), step, "gcp", formula=formula)
    try:
        simulation.advance(DURATION)
    except StepFailed:
        return False
    return bool(abs(simulation["bar1.phi"] - REFERENCE[damping]) < 0.01)


def largest_step(damping: float, formula: str) -> float:
    """By bisection of the number of steps, to 1 %."""
    rate = fastest(pendulum(damping))
    low, high = DURATION * rate / 4, DURATION * rate  # h |lambda| from 4 down to 1
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if survives(damping, formula, DURATION / round(middle)) else (middle, high)
    return DURATION / high


def _explicit() -> Iterator[Row]:
    rate = fastest(pendulum(2800.0))
    for formula, (name, limit) in LIMITS.items():
        step = largest_step(2800.0, formula)
        # 1 % of bisection, 2 % since the mode changes as the pendulum swings
        label = f"{name}: h |lambda| at the limit"
        yield Row(label=label, expected=f"{limit:.1f}", ours=step * rate, check=Within(0.03))
    yield Row(label="AB2/AM2: largest step", expected="3.57e-4", ours=largest_step(2800.0, "abm2"), check=Within(0.03))


def _reach() -> Iterator[Row]:
    """The largest of some steps that the implicit formula takes from the jerk of the start."""
    assumed = "the paper: 0.02/0.00012 = 167 with springs that are lost; a first step is limited by where Newton begins"
    for damping, least in ((2800.0, 10.0), (5e4, 40.0)):
        step = next(h for h in (0.02, 0.01, 0.005, 0.002, 0.001) if implicit_error(damping, h) < 0.01)
        label = f"c2 = {damping:g}"
        yield Row(label=f"{label}: error of the first angle at h = {step:g}", ours=implicit_error(damping, step),
                  check=Between(high=5e-3))  # fmt: skip
        yield Row(label=f"{label}: implicit over explicit step", ours=step / largest_step(damping, "abm2"),
                  check=Between(low=least), remark=assumed)  # fmt: skip


@cache
def implicit_error(damping: float, step: float) -> float:
    """Of the angle of the first bar at the end, rad; infinite where a step fails."""
    simulation = started(pendulum(damping), step, FULL)
    try:
        simulation.advance(DURATION)
    except StepFailed:
        return inf
    return abs(simulation["bar1.phi"] - REFERENCE[damping])


# ---------------------------------------------------------------- pictures


def _draw_trajectory(figure: Any) -> None:
    """The crank of the seven-body mechanism, by both algorithms and two steps."""
    axes = figure.add_subplot()
    for scheme, step, style in ((FULL, 1e-4, "-"), (SIMPLIFIED, 1e-3, "o"), (FULL, 1e-3, "x")):
        simulation = started(shipped("andrews_stiff"), step, scheme)
        time = step * np.arange(1, round(END / step) + 1)
        angle = history(simulation, ["beta"], step, len(time))
        axes.plot(time, angle, style, label=f"{SCHEMES[scheme]}, h = {step:g} s")
    axes.set(xlabel="time [s]", ylabel="crank angle [rad]", title="[Haug97] 4.3: seven bodies, c = 1e5")


def _draw_iterations(figure: Any) -> None:
    """Figs. 10 and 11: iterations over time."""
    for place, step in enumerate((1e-4, 1e-3), start=1):
        axes = figure.add_subplot(2, 1, place)
        for (scheme, name), line in zip(SCHEMES.items(), ("-", "--"), strict=True):
            counts = andrews(step, scheme).counts
            axes.step(step * np.arange(1, len(counts) + 1), counts, line, label=name)
        axes.set(xlabel="time [s]", ylabel="iterations", title=f"[Haug97] Fig. 11, seven bodies, h = {step:g}")


PAPER = Paper(
    key="Haug97",
    title="Implicit integration in independent coordinates",
    items=(
        Item(
            name="haug97.jacobian",
            title="Eq. 29: the full Jacobian, and how Newton's iteration contracts with it",
            convention="at the solution of the first step of a model; at most six digits are counted",
            rows=_jacobian,
        ),
        Item(
            name="haug97.errors",
            title="Seven-body mechanism (4.3): the trajectory and its order",
            convention="k = 30,000, c = 100,000, t = 0.035 s, trapezoidal rule, Newton to 1e-10 of the accelerations",
            rows=_errors,
            draw=_draw_trajectory,
        ),
        Item(
            name="haug97.iterations",
            title="Fig. 11: iterations of IMPL and FV",
            convention="seven-body mechanism, start at the last accelerations, Newton to 1e-10",
            rows=_iterations,
            draw=_draw_iterations,
        ),
        Item(
            name="haug97.table5",
            title="Table 5: largest steps",
            convention="the same; steps of 0.05, 0.1, .. 3 ms, up to the first that needs more iterations than a limit,"
            " which the paper does not give",
            rows=_largest,
            draw=_draw_largest,
        ),
        Item(
            name="haug97.slidercrank",
            title="Fig. 10: iterations on the slider-crank",
            convention="t = 0.1 s; lengths are half lengths, 3 pi/2 of Table 4 is 11 pi/6",
            rows=_others,
        ),
        Item(
            name="haug97.table4",
            title="Table 4: initial conditions of the slider-crank",
            convention="the joints at the printed coordinates",
            rows=_table4,
        ),
        Item(
            name="haug97.explicit",
            title="Section 4.1: largest step of an explicit formula",
            convention="double pendulum with assumed springs, c2 = 2800, 0.1 s, independent coordinates; "
            "lambda: the fastest decay at the start",
            rows=_explicit,
        ),
        Item(
            name="haug97.reach",
            title="Section 4.1: implicit against explicit step",
            convention="the same, steps of 0.02, 0.01, 0.005, 0.002 and 0.001 s against the largest of AB2/AM2",
            rows=_reach,
        ),
    ),
    errata=(
        "eq. 3: tau = -(Phi_q qd)_q qd",
        "eq. 9: the second block is M^vu",
        "eqs. 24, 25 and 33: tau_udot J; eq. 34: tau_udot H + tau_vdot",
        "eqs. 28, 29, 35 and 36: derivatives of Q by velocities in the terms with gamma h",
        "eq. 28: the subscripts u and v of the terms (M a) are swapped",
    ),
    lost=(
        Lost(
            title="Double pendulum (4.1, Fig. 9) and the rest of the slider-crank (4.2)",
            reason="Tables 1 to 3 lost the springs and dampers; gravity, free lengths, tolerance and limit of the"
            " iteration are not given",
        ),
        Lost(
            title="h_max = 0.02 against 0.00012 of an explicit formula (4.1)",
            reason="needs the springs that are lost; what is above takes assumed ones",
        ),
    ),
)
