"""[Haug89], chapter 7: interpolation, Adams formulas, and the algorithms for differential-algebraic equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import comb, e, exp, factorial
from typing import Any

import numpy as np

from mbdfmu.analyses import METHODS
from mbdfmu.description import Body, Marker, State
from mbdfmu.facade import Model
from mbdfmu.forces import Rotational, Translational, VectorForce
from mbdfmu.joints import PointOnLine, Revolute
from mbdfmu.reproduce import haug89_printed as printed
from mbdfmu.reproduce.formulas import gamma, gamma_star
from mbdfmu.reproduce.items import EXACT, Between, Digits, Item, Paper, Row, Within, value_of
from mbdfmu.reproduce.runs import Case, Vector, history, shipped, started, violations

# ---------------------------------------------------------------- interpolation: 7.4.1 and 7.4.2


def _grown(names: Sequence[str], table: printed.Table, values: Callable[[int], Sequence[float]]) -> Iterator[Row]:
    """A row for each cell of a table whose lines are k = 1, 2, ..."""
    for k, line in enumerate(table, start=1):
        for name, paper, ours in zip(names, line, values(k), strict=True):
            yield Row(label=f"k = {k}: {name}", paper=paper, ours=ours)


def taylor(t: float, k: int) -> float:
    """T_k of e^t about 0, eq. 7.4.2: k terms."""
    return sum(t**j / factorial(j) for j in range(k))


def interpolated(t: float, k: int) -> float:
    """P_k through e^1, e^0.9, ..., eq. 7.4.4: its backward differences are those of a geometric series."""
    h, ratio = 0.1, 1 - exp(-0.1)
    value, product = 0.0, 1.0
    for i in range(k):
        value += e * ratio**i * product / (factorial(i) * h**i)
        product *= t - (1 - i * h)
    return value


def _both(approximate: Callable[[float, int], float], times: Sequence[float], k: int) -> list[float]:
    """Value and error at both times."""
    return [x for t in times for x in (approximate(t, k), approximate(t, k) - exp(t))]


def _taylor() -> Iterator[Row]:
    names = ("T_k(0.5)", "E_k(0.5)", "T_k(1)", "E_k(1)")
    return _grown(names, printed.TAYLOR, lambda k: _both(taylor, (0.5, 1.0), k))


def _backward() -> Iterator[Row]:
    names = ("P_k(1.1)", "E_k(1.1)", "P_k(1.2)", "E_k(1.2)")
    return _grown(names, printed.BACKWARD, lambda k: _both(interpolated, (1.1, 1.2), k))


# ---------------------------------------------------------------- coefficients: 7.4.4 and 7.4.10


def _bashforth() -> Iterator[Row]:
    for k, paper in enumerate(printed.BASHFORTH):
        right = str(gamma(k)) if k == 5 else ""
        yield Row(label=f"gamma_{k}", paper=paper, expected="95/288" if right else "", ours=gamma(k), check=EXACT,
                  remark="misprint" if right else "")  # fmt: skip


def _moulton() -> Iterator[Row]:
    for k, paper in enumerate(printed.MOULTON):
        yield Row(label=f"gamma*_{k}", paper=paper, ours=gamma_star(k), check=EXACT)


# ---------------------------------------------------------------- x' = x by our formulas


@cache
def growth() -> Model:
    """x' = x, x(0) = 1: a model of one state and nothing else."""
    model = Model("growth")
    model.add("x", State(rate="x", start=1))
    return model


@cache
def solution(formula: str, h: float, count: int) -> Vector:
    """x after 1, 2, ... steps, the order growing from 1."""
    simulation = started(growth(), h, "direct", formula=formula, start="growing")
    return history(simulation, ["x"], h, count)[:, 0]


def _percent(x: float, t: float) -> float:
    return (exp(t) - x) / exp(t) * 100


def _euler() -> Iterator[Row]:
    coarse, fine = solution("euler", 0.1, 10), solution("euler", 0.01, 100)[9::10]
    for i, line in enumerate(printed.EULER):
        t = (i + 1) / 10
        values = (exp(t), coarse[i], _percent(coarse[i], t), fine[i], _percent(fine[i], t))
        names = ("e^t", "h = 0.1", "h = 0.1, error in %", "h = 0.01", "h = 0.01, error in %")
        for name, paper, ours in zip(names, line, values, strict=True):
            yield Row(label=f"t = {t:g}: {name}", paper=paper, ours=float(ours))


Misprints = dict[tuple[int, int], str]
MISPRINTED: Misprints = {(4, 2): "0.013263", (4, 3): "0.000388", (4, 4): "0.002513"}  # line and column of 7.4.5


def _differences() -> Iterator[Row]:
    values = np.concatenate([[1.0], solution("ab5", 0.1, 4)])
    for n, line in enumerate(printed.DIFFERENCES):
        for k, paper in enumerate(line):
            ours = sum((-1) ** j * comb(k, j) * values[n - j] for j in range(k + 1))
            right = MISPRINTED.get((n, k), "")
            yield Row(label=f"t_{n}: difference of order {k}", paper=paper, expected=right, ours=float(ours),
                      remark="misprint: not the difference of its neighbours" if right else "")  # fmt: skip


def _steps(h: float, table: printed.Table, errors: printed.Table, misprints: Misprints) -> Iterator[Row]:
    for k in range(1, 6):
        xs = solution(f"ab{k}", h, len(table))
        for i, (line, percents) in enumerate(zip(table, errors, strict=True), start=1):
            right = misprints.get((i, k), "")
            x = float(xs[i - 1])
            yield Row(label=f"k = {k}, i = {i}", paper=line[k - 1], expected=right, ours=x,
                      remark="misprint: digits swapped" if right else "")  # fmt: skip
            yield Row(label=f"k = {k}, i = {i}: error in %", paper=percents[k - 1], ours=_percent(x, i * h))


def _coarse() -> Iterator[Row]:
    return _steps(0.1, printed.COARSE, printed.COARSE_ERRORS, {(9, 3): "2.446438"})


def _fine() -> Iterator[Row]:
    return _steps(0.01, printed.FINE, printed.FINE_ERRORS, {(4, 4): "1.040758", (4, 5): "1.040758"})


def _predicted(h: float) -> Iterator[Row]:
    """Tables 7.4.8 and 7.4.9 cut off what they do not print."""
    for k, (paper, error, percent) in enumerate(printed.PREDICTED[h], start=1):
        x = float(solution(f"ab{k}", h, round(10 / h))[-1])
        yield Row(label=f"k = {k}: x(10)", paper=paper, ours=x, check=Digits(cut=True))
        yield Row(label=f"k = {k}: error", paper=error, ours=x - exp(10), check=Digits(cut=True))
        yield _rounded(f"k = {k}: error in %", percent, _percent(x, 10), {(0.1, 4): "0.6"}.get((h, k), ""))


def _rounded(label: str, paper: str, ours: float, expected: str) -> Row:
    return Row(label=label, paper=paper, expected=expected, ours=abs(ours), remark="not rounded" if expected else "")


# ---------------------------------------------------------------- predictor-corrector: 7.4.11 and 7.4.12

CORRECT = {  # computed elsewhere, in plain arithmetic
    0.1: ("21688.414370399", "21997.230964196", "22020.660494571", "22022.572664814", "22022.740598401"),
    0.01: ("22022.822441481", "22026.433429077", "22026.461873511", "22026.462117453", "22026.462120316"),
}
FAULT = "the book's program began with the full-order corrector and zeros for differences that do not exist yet"
ROUNDING = "accumulated rounding of t"
ODD = "the column is not the printed x(10) less e^10"
PECE = Within(2e-11)  # rounding of a thousand steps; the book's sums differ in the twelfth digit too
PECE_ERROR = Within(PECE.limit * exp(10), relative=False)


def faulty(h: float, k: int) -> float:
    """x(10) with the start that explains what the book prints."""
    weights = [[float(weight(j)) for j in range(k + 1)] for weight in (gamma, gamma_star)]
    x, nabla = 1.0, np.eye(1, k + 1)[0]
    for n in range(round(10 / h)):
        predicted = x + h * np.dot(weights[0][:k], nabla[:k])
        x = float(x + h * np.dot(weights[1], _updated(nabla, predicted, k + 1)))
        nabla = _updated(nabla, x, n + 2)
    return x


def _updated(nabla: Vector, f: float, count: int) -> Vector:
    """The first differences with one more value; the others are zero."""
    new = np.zeros_like(nabla)
    new[0] = f
    for j in range(1, min(count, len(nabla))):
        new[j] = new[j - 1] - nabla[j - 1]
    return new


def _corrected(h: float) -> Iterator[Row]:
    for k, (paper, error, percent) in enumerate(printed.CORRECTED[h], start=1):
        ours, theirs = float(solution(f"mampc{k}", h, round(10 / h))[-1]), faulty(h, k)
        remark = FAULT if k > 1 else ROUNDING
        right = f"{float(CORRECT[h][k - 1]) - exp(10):.9f}"
        yield Row(label=f"k = {k}: x(10)", paper=paper, expected=CORRECT[h][k - 1], ours=ours, check=PECE,
                  remark=remark)  # fmt: skip
        yield Row(label=f"k = {k}: error", paper=error, expected=right, ours=ours - exp(10), check=PECE_ERROR,
                  remark=remark)  # fmt: skip
        yield Row(label=f"k = {k}: x(10) with that start", paper=paper, ours=theirs, check=PECE)
        less = value_of(paper) - exp(10)
        odd = abs(less - value_of(error)) > 1e-6
        yield Row(label=f"k = {k}: error with that start", paper=error, expected=f"{less:.9f}" if odd else "",
                  ours=theirs - exp(10), check=PECE_ERROR, remark=ODD if odd else "")  # fmt: skip
        right = {(0.1, 3): "0.1"}.get((h, k), "")
        yield _rounded(f"k = {k}: error with that start in %", percent, _percent(theirs, 10), right)


def _starting() -> Iterator[Row]:
    for n, (paper, ours) in enumerate(zip(printed.STARTING, solution("mampc3", 0.1, 3), strict=True), start=1):
        yield Row(label=f"x_{n}", paper=paper, ours=float(ours))


def _draw_errors(figure: Any) -> None:
    """Errors at t = 10 over the step, predictor and predictor-corrector."""
    axes = figure.add_subplot()
    counts = [100, 200, 400, 800, 1600]
    for formula, style in (("ab", "--"), ("mampc", "-")):
        for k in range(1, 6):
            errors = [abs(solution(f"{formula}{k}", 10 / n, n)[-1] / exp(10) - 1) for n in counts]
            axes.loglog([10 / n for n in counts], errors, style, label=f"{formula}{k}")
    axes.set(xlabel="step", ylabel="relative error of e^10", title="[Haug89] Tables 7.4.8 to 7.4.12, correct start")


# ---------------------------------------------------------------- section 7.3: constrained equations of motion

CRANK = (-3.14097146870435, 3.72710915928399e-4)  # theta and phi at 10 s, computed elsewhere in quadruple precision
ALLOWED = 2e-6  # m: the gap from which the hybrid algorithm corrects, a quarter of what stabilisation leaves
ALGORITHMS: dict[str, dict[str, Any]] = {
    "direct": {}, "gcp": {}, "baumgarte": {"alpha": 5.0, "beta": 5.0},
    "hybrid": {"alpha": 5.0, "beta": 5.0, "most_open": ALLOWED / 0.5},  # of the model's length, 0.5 m
}  # fmt: skip
# Error of the two angles and largest |Phi|, of an independent program; a partition leaves what Newton's method leaves.
MEASURED = {
    0.01: {"direct": ("1.3e-4", "2.0e-5"), "gcp": ("1.5e-4", ""), "baumgarte": ("1.5e-2", "8.6e-6")},
    0.005: {"direct": ("3.1e-6", ""), "gcp": ("3.6e-6", ""), "baumgarte": ("9.3e-4", "")},
}  # fmt: skip
DRIFT = {10.0: "2.0e-5", 50.0: "2.3e-4", 100.0: "8.8e-4"}  # largest |Phi| of direct integration
COSTLY = "stabilisation costs two digits of the positions"
TWO_DIGITS = Within(0.05)


@cache
def crank(scheme: str, step: float) -> tuple[float, float, int]:
    """Largest error of the angles after 10 s, largest |Phi| on the way, corrections."""
    case = Case(shipped("slider_crank_coordinates"))
    options = {"formula": "mampc3", "start": "growing", **ALGORITHMS[scheme]}
    simulation = case.begun(step, scheme, **options)
    simulation.advance(10.0)
    error = max(abs(simulation[name] - exact) for name, exact in zip(("theta", "phi"), CRANK, strict=True))
    corrections = int(simulation.statistics.get("corrected_steps", 0))
    return error, float(violations(case, step, round(10 / step), scheme, **options).max()), corrections


def _constrained() -> Iterator[Row]:
    for step, measured in MEASURED.items():
        for scheme, (error, gap) in measured.items():
            found = crank(scheme, step)
            yield Row(label=f"{scheme}, h = {step:g}: error of the angles", expected=error, ours=found[0],
                      check=TWO_DIGITS, remark=COSTLY if scheme == "baumgarte" else "")  # fmt: skip
            if gap:
                yield Row(label=f"{scheme}, h = {step:g}: largest |Phi|", expected=gap, ours=found[1], check=TWO_DIGITS)
            if scheme == "gcp":
                yield Row(label=f"gcp, h = {step:g}: largest |Phi|", ours=found[1], check=Between(high=1e-12))
    _, most, corrections = crank("hybrid", 0.01)
    yield Row(label="hybrid, h = 0.01: largest |Phi|", ours=most, check=Between(high=ALLOWED))
    yield Row(label="hybrid, h = 0.01: corrections in 1,000 steps", ours=corrections, check=Between(low=1, high=500),
              remark="stabilisation does the rest")  # fmt: skip


def _drift() -> Iterator[Row]:
    case = Case(shipped("slider_crank_coordinates"))
    found = violations(case, 0.01, 10_000, "direct", formula="mampc3", start="growing")
    for end, expected in DRIFT.items():
        largest = float(found[: round(end / 0.01)].max())
        yield Row(label=f"largest |Phi| until {end:g} s", expected=expected, ours=largest, check=TWO_DIGITS)
    ratio = found.max() / found[:1000].max()
    yield Row(label="power of time by which it grows", expected="2", ours=float(np.log10(ratio)),
              check=Within(0.5, relative=False), remark="the book: it may accumulate")  # fmt: skip


def _draw_constrained(figure: Any) -> None:
    """The open joints over time, by each algorithm."""
    axes = figure.add_subplot()
    case = Case(shipped("slider_crank_coordinates"))
    for scheme, options in ALGORITHMS.items():
        found = violations(case, 0.01, 2000, scheme, formula="mampc3", **options)
        axes.semilogy(0.01 * np.arange(1, 2001), found, lw=0.8, label=scheme)
    axes.set(xlabel="time [s]", ylabel="|Phi|", title="[Haug89] 7.3: slider-crank, PECE of order 3, h = 0.01 s")


# ---------------------------------------------------------------- section 7.5: equilibrium

STABLE = ("4.280749107710", "-29.9847205266")  # angle of the crank, potential energy; computed elsewhere
UNSTABLE = "0.119248236"
NEAR_REST, NEAR_UNSTABLE = 4.0, 0.1  # rad: where the crank begins


def sprung() -> Model:
    """A crank and a rod whose tip slides along x against a spring; uniform bars of 0.6 m and 1.2 m."""
    model = Model("sprung", gravity=(0, -9.81))
    model.add("crank", Body(mass=3, inertia=0.09, position=(0, 0.3), angle="pi/2"))
    model.add("rod", Body(mass=9, inertia=1.08, position=("0.6*cos(pi/6)", 0.3), angle="-pi/6"))
    model.add("shaft", Revolute(i=Marker(body="ground"), j=Marker(body="crank", at=(-0.3, 0))))
    model.add("pin", Revolute(i=Marker(body="crank", at=(0.3, 0)), j=Marker(body="rod", at=(-0.6, 0))))
    model.add("slide", PointOnLine(i=Marker(body="ground"), j=Marker(body="rod", at=(0.6, 0))))
    tip = Marker(body="rod", at=(0.6, 0))
    model.add("spring", Translational(i=Marker(body="ground", at=(2, 0)), j=tip, stiffness=300, free_length=1.3))
    return model


def _equilibrium() -> Iterator[Row]:
    for method in METHODS:
        rest = sprung().equilibrium(method=method, start={"crank.phi": NEAR_REST})
        yield Row(label=f"{method}: angle of the crank", expected=STABLE[0], ours=rest["crank.phi"], check=Within(1e-8))
        yield Row(label=f"{method}: potential energy", expected=STABLE[1], ours=rest["energy.potential"],
                  check=Within(1e-8))  # fmt: skip
    rest = sprung().equilibrium(method="equations", start={"crank.phi": NEAR_UNSTABLE})
    yield Row(label=f"equations, from {NEAR_UNSTABLE:g} rad: angle", expected=UNSTABLE, ours=rest["crank.phi"],
              check=Within(1e-8))  # fmt: skip
    for method, verdict, remark in (("equations", "0", WARNING), ("energy", "1", ""), ("settle", "1", "")):
        rest = sprung().equilibrium(method=method, start={"crank.phi": NEAR_UNSTABLE})
        yield Row(label=f"{method}, from {NEAR_UNSTABLE:g} rad: stable (1) or not (0)", expected=verdict,
                  ours=Fraction(bool(rest.stable)), check=EXACT, remark=remark)  # fmt: skip


def damped(strength: float) -> Model:
    """The same with artificial dampers, in N s/m, between both bodies and the ground; a tenth of it in N m s/rad."""
    model, ground = sprung(), Marker(body="ground")
    for body in ("crank", "rod"):
        drag = (f"-{strength}*{body}.vx", f"-{strength}*{body}.vy")
        model.add(f"{body}_drag", VectorForce(i=ground, j=Marker(body=body), force=drag))
        torque = f"-0.1*{strength}*{body}.omega"
        model.add(f"{body}_brake", Rotational(i=ground, j=Marker(body=body), torque=torque))
    return model


def integrated_to_rest(strength: float) -> tuple[float, int]:
    """Angle of the crank and number of steps, by integration until nothing moves or accelerates by 1e-8 any more."""
    simulation = damped(strength).start(start={"crank.phi": NEAR_REST}, assemble=True, tolerance=1e-4)
    for end in range(1, 1000):
        simulation.advance(float(end))
        state = simulation.save()
        if max(np.abs(state.v).max(), np.abs(state.a).max()) < 1e-8:
            break
    return float(simulation["crank.phi"]), int(simulation.statistics["steps"])


def _settling() -> Iterator[Row]:
    ours = sprung().equilibrium(method="settle", start={"crank.phi": NEAR_REST}).steps
    for strength, least in ((1.0, 50), (100.0, 2)):
        angle, count = integrated_to_rest(strength)
        label = f"dampers of {strength:g} N s/m"
        yield Row(label=f"{label}: angle of the crank", expected=STABLE[0], ours=angle, check=Within(1e-8))
        yield Row(label=f"{label}: steps, over those of our settling", ours=count / ours, check=Between(low=least),
                  remark='"requires substantial computing time"')  # fmt: skip


WARNING = "the book warns of this: Newton's iteration ends at unstable equilibria too"
SELF_STARTING = "native formulas on a model of one state, x' = x; order min(n + 1, k) in step n"

PAPER = Paper(
    key="Haug89",
    title="Numerical methods in dynamics (chapter 7)",
    items=(
        Item(name="haug89.7.4.1", title="Table 7.4.1: Taylor approximations of e^t",
             convention="T_k has k terms, about 0", rows=_taylor),
        Item(name="haug89.7.4.2", title="Table 7.4.2: backward difference interpolation of e^t",
             convention="through e^1, e^0.9, ..., k points", rows=_backward),
        Item(name="haug89.7.4.3", title="Table 7.4.3: Euler's method", convention=SELF_STARTING, rows=_euler),
        Item(name="haug89.7.4.4", title="Table 7.4.4: Adams-Bashforth coefficients",
             convention="integrals of the Newton polynomials, exact fractions", rows=_bashforth),
        Item(name="haug89.7.4.5", title="Table 7.4.5: backward differences", convention=SELF_STARTING,
             rows=_differences),
        Item(name="haug89.7.4.6", title="Table 7.4.6: Adams-Bashforth, h = 0.1", convention=SELF_STARTING,
             rows=_coarse),
        Item(name="haug89.7.4.7", title="Table 7.4.7: Adams-Bashforth, h = 0.01",
             convention=f"{SELF_STARTING}; its column t_i is rounded to 0.0 and 0.1", rows=_fine),
        Item(name="haug89.7.4.8", title="Table 7.4.8: Adams-Bashforth at t = 10, h = 0.1",
             convention=f"{SELF_STARTING}; digits are cut off, not rounded", rows=lambda: _predicted(0.1)),
        Item(name="haug89.7.4.9", title="Table 7.4.9: Adams-Bashforth at t = 10, h = 0.01",
             convention=f"{SELF_STARTING}; digits are cut off, not rounded", rows=lambda: _predicted(0.01)),
        Item(name="haug89.7.4.10", title="Table 7.4.10: Adams-Moulton coefficients",
             convention="integrals of the Newton polynomials, exact fractions", rows=_moulton),
        Item(name="haug89.example7.4.5", title="Example 7.4.5: starting the predictor-corrector",
             convention=SELF_STARTING, rows=_starting),
        Item(name="haug89.7.4.11", title="Table 7.4.11: predictor-corrector at t = 10, h = 0.1",
             convention=f"{SELF_STARTING}; corrector one order higher (mampc1 to mampc5)",
             rows=lambda: _corrected(0.1), draw=_draw_errors),
        Item(name="haug89.7.4.12", title="Table 7.4.12: predictor-corrector at t = 10, h = 0.01",
             convention=f"{SELF_STARTING}; corrector one order higher (mampc1 to mampc5)",
             rows=lambda: _corrected(0.01)),
        Item(name="haug89.7.3", title="Section 7.3: direct, partitioning, stabilised and hybrid algorithm",
             convention="slider-crank with g = 10 from its exact start, 10 s, PECE of order 3 (mampc3), growing start;"
             " alpha = beta = 5, hybrid tolerance 2e-6 m; the book gives no figures", rows=_constrained,
             draw=_draw_constrained),
        Item(name="haug89.7.3-drift", title="Section 7.3: accumulation of constraint error",
             convention="the same, direct integration with h = 0.01 s", rows=_drift),
        Item(name="haug89.7.5", title="Section 7.5: equilibrium by settling, by equations and by least energy",
             convention="slider-crank with uniform bars of 3 kg and 9 kg, a spring of 300 N/m and 1.3 m from (2, 0) to"
             " the tip; the book gives no figures", rows=_equilibrium),
        Item(name="haug89.7.5-settling", title="Section 7.5: dynamic settling with artificial damping",
             convention="the same, integrated with inertia by hht at 1e-4 from 4 rad until no velocity and acceleration"
             " exceeds 1e-8; our settling has no inertia (theory, 10.1)", rows=_settling),
    ),
    errata=(
        "Example 7.3.1: the initial values are swapped; s(0) = 3 pi/2, r(0) = 1",
        "eqs. 7.2.9 and 7.2.12 have lost the dots of second derivatives",
        "eq. 7.4.4: the index of the inner product is j",
        "eq. 7.4.7: the left side is the difference of order k of f_n",
        "after eq. 7.4.12: x_2 takes 2 f_1 - f_0 for (3 f_1 - f_0)/2, which the examples have right",
        "example 7.4.5: a sign = for +, nabla f_3 for nabla f_2 in the prediction of x_3, Delta for nabla",
        "the definition of the truncation error tau^c lacks h",
        "the 'first five' Adams-Moulton coefficients are six",
    ),
)  # fmt: skip
