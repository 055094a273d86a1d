"""[Wu00]: modified Adams-Moulton predictor-correctors, their stability, and Baumgarte's slider-crank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import factorial, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbdfmu.description import State
from mbdfmu.facade import Model
from mbdfmu.reproduce.formulas import (
    Formula,
    adams_bashforth,
    gamma,
    gamma_star,
    grid,
    modification,
    modified_predictor_corrector,
    moulton,
    predictor_corrector,
    real_limit,
)
from mbdfmu.reproduce.items import EXACT, Between, Item, Paper, Row, Within
from mbdfmu.reproduce.runs import Case, Vector, history, shipped, started, violations
from mbdfmu.schemes.formulas import FORMULAS

FAMILIES: dict[str, Callable[[int], Formula]] = {
    "ABP": adams_bashforth, "AMPC": predictor_corrector, "MAMPC": modified_predictor_corrector,
}  # fmt: skip
LIMITS = {  # Table 2
    "ABP": ("0.545", "0.300", "0.164"),
    "AMPC": ("1.729", "1.285", "0.947"),
    "MAMPC": ("1.935", "1.412", "1.040"),
}
ORDERS = (3, 4, 5)
COEFFICIENTS = {  # Table 1
    "explicit": ("1", "1/2", "5/12", "3/8", "251/720", "95/288"),
    "implicit": ("1", "-1/2", "-1/12", "-1/24", "-19/720", "-3/160"),
}
# The appendix: our formula, common denominator, weights, order as it names it, constant of the error.
APPENDIX = {
    "A1": ("ab2", 2, (3, -1), "1", "5/12"),
    "A2": ("ab3", 12, (23, -16, 5), "2", "3/8"),
    "A3": ("ab4", 24, (55, -59, 37, -9), "3", "251/720"),
    "A4": ("ab5", 720, (1901, -2774, 2616, -1274, 251), "4", "95/288"),
    "A5": ("mampc2", 12, (5, 8, -1), "2", "-1/24"),  # mampc_k corrects by Adams-Moulton of order k + 1
    "A6": ("mampc3", 24, (9, 19, -5, 1), "3", "-19/720"),
    "A7": ("mampc4", 720, (251, 646, -264, 106, -19), "4", "-3/160"),
}
ROUNDED = Within(1e-9)


def _coefficients() -> Iterator[Row]:
    for kind, weight in (("explicit", gamma), ("implicit", gamma_star)):
        for k, paper in enumerate(COEFFICIENTS[kind]):
            yield Row(label=f"{kind}, k = {k}", paper=paper, ours=weight(k), check=EXACT)


STARTED = 8  # steps, after which no formula here starts any more


def increments(formula: str, rate: str, count: int) -> Vector:
    """What unit steps add to x where x' = rate(time), as our formula integrates it."""
    model = Model("quadrature")
    model.add("x", State(rate=rate))
    simulation = started(model, 1.0, "direct", formula=formula, start="growing")
    return np.diff(history(simulation, ["x"], 1.0, STARTED + count)[STARTED - 1 :, 0])


def weights(formula: str, count: int) -> Vector:
    """Of f_n (explicit) or f_{n+1} (implicit) and those before it: f is 1 at one step and 0 at all others."""
    at = STARTED if formula.startswith("ab") else STARTED + 1
    return increments(formula, f"exp(-1000*(time - {at})^2)", count)


def order_and_constant(formula: str) -> tuple[int, float]:
    """The first power of time that the formula does not integrate, and its error over the derivative of that power."""
    for power in range(1, 8):
        exact = ((STARTED + 1) ** (power + 1) - STARTED ** (power + 1)) / (power + 1)
        error = exact - float(increments(formula, f"time^{power}", 1)[0])
        if abs(error) > 1e-9 * exact:
            break
    return power, error / factorial(power)


def _appendix() -> Iterator[Row]:
    for name, (formula, denominator, numerators, named, constant) in APPENDIX.items():
        for j, (numerator, weight) in enumerate(zip(numerators, weights(formula, len(numerators)), strict=True)):
            yield Row(label=f"{name}: weight {j + 1}", paper=f"{numerator}/{denominator}", ours=float(weight),
                      check=ROUNDED)  # fmt: skip
        order, error = order_and_constant(formula)
        yield Row(label=f"{name}: constant of the error", paper=constant, ours=error, check=Within(1e-6))
        yield Row(label=f"{name}: order", paper=named, expected=str(int(named) + 1), ours=Fraction(order), check=EXACT,
                  remark="the names are one order too low")  # fmt: skip
        if name == "A1":
            yield Row(label="A1: derivative of y in the error", paper="2", expected="3", ours=Fraction(order + 1),
                      check=EXACT, remark="the error is 5/12 of the third derivative")  # fmt: skip


def _weights() -> Iterator[Row]:
    printed = {3: ("1/10", "9/10")}
    computed = {4: ("19/270", "251/270"), 5: ("27/502", "475/502")}
    for steps in ORDERS:
        for label, k in (("AB", 0), ("AM", 1)):
            paper = printed.get(steps, ("", ""))[k]
            expected = computed.get(steps, ("", ""))[k]
            yield Row(label=f"m = {steps}: weight of {label}", paper=paper, expected=expected,
                      ours=modification(steps)[k], check=EXACT)  # fmt: skip
        mixed, whole = modified_predictor_corrector(steps).corrector, moulton(steps + 1)
        difference = max(abs(a - b) for a, b in zip(mixed, whole, strict=True))
        yield Row(label=f"m = {steps}: mixed weights less those of AM_{steps} (eq. 20)", paper="0", ours=difference,
                  check=EXACT)  # fmt: skip


def _limits() -> Iterator[Row]:
    for family, formula in FAMILIES.items():
        for order, paper in zip(ORDERS, LIMITS[family], strict=True):
            limit = real_limit(formula(order).growth)
            rounded = f"{limit:.3f}" == paper
            yield Row(label=f"{family}, order {order}", paper=paper, ours=limit, check=Within(0.001, relative=False),
                      remark="" if rounded else f"rounded up: {limit:.6f}")  # fmt: skip


PLACES = grid((-2.4, 0), (0, 1.6), 16)  # of h lambda
CLEAR = 0.02  # how far from 1 a growth must be for 200 steps to tell


@cache
def decays(formula: str) -> NDArray[np.bool_]:
    """Where x' = lambda x decays as our formula integrates it in unit steps; two states for each place."""
    model = Model("decay")
    for k, z in enumerate(PLACES.flat):
        model.add(f"x{k}", State(rate=f"{z.real}*x{k} - {z.imag}*y{k}", start=1))
        model.add(f"y{k}", State(rate=f"{z.imag}*x{k} + {z.real}*y{k}"))
    names = [f"{part}{k}" for k in range(PLACES.size) for part in "xy"]
    motion = np.abs(history(started(model, 1.0, "direct", formula=formula), names, 1.0, 200))
    early, late = (motion[n - 20 : n].reshape(20, PLACES.size, 2).max(axis=(0, 2)) for n in (100, 200))
    return np.asarray(late < early).reshape(PLACES.shape)


def _regions() -> Iterator[Row]:
    for figure, order in enumerate(ORDERS, start=1):
        found = {}
        for family, formula in (("AMPC", f"abm{order}"), ("MAMPC", f"mampc{order}")):
            growth = FAMILIES[family](order).growth(PLACES)
            clear = np.abs(growth - 1) > CLEAR
            found[family] = int(np.count_nonzero(decays(formula) & clear))
            roots = np.count_nonzero((growth < 1) & clear)
            yield Row(label=f"Fig. {figure}: places where {family}_{order} decays", expected=str(roots),
                      ours=Fraction(found[family]), check=EXACT)  # fmt: skip
        yield Row(label=f"Fig. {figure}: those of MAMPC_{order} over those of AMPC_{order}", paper="larger",
                  ours=found["MAMPC"] / found["AMPC"], check=Between(low=1))  # fmt: skip


# ---------------------------------------------------------------- Baumgarte on the slider-crank

END, GAIN = 10.0, 5.0
AVERAGES = {  # Table 3: formula, step: as printed, and computed elsewhere with g = 9.8
    ("abm3", 0.01): ("4.65e-6", "4.667e-6"),
    ("abm3", 0.001): ("4.14e-9", "4.146e-9"),
    ("mampc3", 0.01): ("9.8e-7", "9.846e-7"),
    ("mampc3", 0.001): ("9.6e-11", "9.705e-11"),
}
NAMES = {"abm3": "AMPC_3", "mampc3": "MAMPC_3"}


def slider_crank() -> Case:
    """With g = 9.8 and the exact start that the four printed digits round."""
    return Case(shipped("slider_crank_coordinates"), parameters={"g": 9.8})


@cache
def open_joints(formula: str, step: float, gain: float) -> Vector:
    """|Phi| after each step, as far as the solution is finite."""
    return violations(slider_crank(), step, round(END / step), "baumgarte", formula=formula, alpha=gain, beta=gain)


def average(formula: str, step: float) -> float:
    """Mean |Phi| of 10 s; the closed start counts."""
    found = open_joints(formula, step, GAIN)
    return float(found.sum() / (len(found) + 1))


def _averages() -> Iterator[Row]:
    for (formula, step), (paper, computed) in AVERAGES.items():
        mean, label = average(formula, step), f"{NAMES[formula]}, h = {step:g}"
        yield Row(label=label, paper=paper, ours=mean, check=Within(0.02))
        yield Row(label=f"{label}, against an independent computation", expected=computed, ours=mean,
                  check=Within(1e-3))  # fmt: skip


def bounded(formula: str, gain: float) -> bool:
    """Whether the joints stay closed to a tenth of the crank's length."""
    found = open_joints(formula, 0.01, gain)
    return len(found) == round(END / 0.01) and bool(np.all(found < 0.03))


def first_divergent(formula: str, first: int) -> int:
    """The first gain from `first` on, in whole numbers, at which the joints open."""
    return next(gain for gain in range(first, 2 * first) if not bounded(formula, gain))


def _gains() -> Iterator[Row]:
    linear = "the linear limit is {:.1f}; nonlinear terms take 3 % off"
    for formula, family, first in (("abm3", "AMPC", 160), ("mampc3", "MAMPC", 180)):
        gain = first_divergent(formula, first)
        remark = linear.format(real_limit(FAMILIES[family](3).growth) / 0.01)
        if formula == "abm3":
            yield Row(label="AMPC_3: first gain that diverges", paper="168", ours=float(gain), remark=remark)
        else:
            yield Row(label="MAMPC_3: last gain before one diverges", paper="188", ours=gain - 1.0,
                      check=Within(1, relative=False), remark=f"188 is stable; {remark}")  # fmt: skip


OTHERS = {  # "similar results were obtained": mean |Phi| at 0.01 s, first gain that diverges, computed elsewhere
    "abm4": ("AMPC_4", "5.270e-7", "125"),
    "mampc4": ("MAMPC_4", "2.219e-7", "139"),
    "abm5": ("AMPC_5", "1.232e-7", "92"),
    "mampc5": ("MAMPC_5", "7.729e-8", "101"),
}


def _others() -> Iterator[Row]:
    for formula, (name, mean, gain) in OTHERS.items():
        yield Row(label=f"{name}: mean |Phi|, h = 0.01", expected=mean, ours=average(formula, 0.01), check=Within(1e-3))
        found = log2(average(formula, 0.005) / average(formula, 0.0025))
        yield Row(label=f"{name}: mean |Phi| falls with h to the power", ours=found, check=Within(0.2, relative=False),
                  expected=str(FORMULAS[formula]))  # fmt: skip
        divergent = first_divergent(formula, int(gain) - 5)
        yield Row(label=f"{name}: first gain that diverges", expected=gain, ours=float(divergent))


def _draw_errors(figure: Any) -> None:
    """Figs. 5 and 6: the open joints over time."""
    for axes, step in zip(figure.subplots(2, 1, sharex=True), (0.01, 0.001), strict=True):
        for formula, name in NAMES.items():
            found = open_joints(formula, step, GAIN)
            axes.semilogy(step * np.arange(1, len(found) + 1), found, lw=0.8, label=name)
        axes.set(ylabel="|Phi|", title=f"[Wu00] Fig. {5 if step > 0.005 else 6}: h = {step:g} s")
    axes.set_xlabel("time [s]")


def _draw_gains(figure: Any) -> None:
    """Fig. 7: on both sides of the limits."""
    axes = figure.add_subplot()
    for formula, gain in (("abm3", 167), ("abm3", 168), ("mampc3", 188), ("mampc3", 192)):
        found = open_joints(formula, 0.01, gain)
        axes.semilogy(0.01 * np.arange(1, len(found) + 1), found, lw=0.8, label=f"{NAMES[formula]}, alpha = {gain}")
    axes.set(xlabel="time [s]", ylabel="|Phi|", ylim=(1e-16, 1e2), title="[Wu00] Fig. 7: h = 0.01 s")


# ---------------------------------------------------------------- pictures of the formulas


def _draw_regions(figure: Any) -> None:
    """Figs. 1 to 3: where no root of the characteristic polynomial exceeds one."""
    z = grid((-2.5, 0.5), (-1.6, 1.6), 300)
    for axes, order in zip(figure.subplots(1, 3, sharex=True, sharey=True), ORDERS, strict=True):
        for formula, style in ((predictor_corrector, "--"), (modified_predictor_corrector, "-")):
            growth = formula(order).growth(z)
            axes.contour(z.real[0], z.imag[:, 0], growth, levels=[1], colors="k", linestyles=style)
        axes.set(title=f"Fig. {order - 2}: AMPC_{order} (dashed), MAMPC_{order}", xlabel="Re h lambda", aspect="equal")
        axes.axhline(0, color="0.8"), axes.axvline(0, color="0.8")
    figure.axes[0].set_ylabel("Im h lambda")
    figure.set_size_inches(12, 4.6)


def draw_limits(figure: Any) -> None:
    """The largest root along the negative real axis."""
    axes = figure.add_subplot()
    x = np.linspace(0, 2.2, 500)
    for family, formula in FAMILIES.items():
        for order in ORDERS:
            axes.plot(x, np.minimum(formula(order).growth(-x + 0j), 1.5), label=f"{family}_{order}")
    axes.set(xlabel="alpha h", ylabel="largest root", title="[Wu00] Table 2: stable where no root exceeds one")


PAPER = Paper(
    key="Wu00",
    title="Modified Adams-Moulton predictor-corrector method",
    items=(
        Item(
            name="wu00.table1",
            title="Table 1: weights of backward differences",
            convention="integrals of the Newton polynomials, exact fractions",
            rows=_coefficients,
        ),
        Item(
            name="wu00.appendix",
            title="Appendix, A1 to A7: Adams formulas and the constants of their errors",
            convention="our formulas integrate functions of time: one step at which f is 1, and powers",
            rows=_appendix,
        ),
        Item(
            name="wu00.weights",
            title="Theorem 1: weights of the modification (eqs. 20, 21)",
            convention="MAMPC_m is PECE of AB_m and AM_m, the Adams-Moulton formula of order m + 1",
            rows=_weights,
        ),
        Item(
            name="wu00.table2",
            title="Table 2: stability limits of alpha h",
            convention="P-E-C-E; double eigenvalue -alpha, so the limit on the real axis; AB_m with AM of order m"
            " (AMPC) or m + 1 (MAMPC)",
            rows=_limits,
            draw=draw_limits,
        ),
        Item(
            name="wu00.figures1-3",
            title="Figs. 1 to 3: stability regions",
            convention="200 steps of our formulas on x' = lambda x at 16 x 16 places, Re h lambda from -2.4 to 0"
            " and Im from 0 to 1.6; beside them, the roots of the characteristic polynomial",
            rows=_regions,
            draw=_draw_regions,
        ),
        Item(
            name="wu00.table3",
            title="Table 3, Figs. 5 and 6: open joints of the slider-crank",
            convention="g = 9.8, alpha = beta = 5, 10 s, mean of |Phi|_2 over start and steps; consistent start theta ="
            " asin(5/6), phi = -pi/6 (the four printed digits are open by 4e-5, which would show); exact first steps",
            rows=_averages,
            draw=_draw_errors,
        ),
        Item(
            name="wu00.figure7",
            title="Fig. 7: the largest gain",
            convention="as Table 3, h = 0.01 s, alpha = beta in whole numbers",
            rows=_gains,
            draw=_draw_gains,
        ),
        Item(
            name="wu00.others",
            title="MAMPC_4 and MAMPC_5 on the slider-crank (end of section V)",
            convention='as Table 3 and Fig. 7; the paper gives no figures: "similar results were obtained"',
            rows=_others,
        ),
    ),
    errata=(
        "eq. 14: two formulas run together; the first is the difference of the two that follow",
        "eq. 36: q has dots that do not belong there",
    ),
)
