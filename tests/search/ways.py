"""Ways to run one model that must agree: each is a function that gives its findings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import mbdfmu as mbd
from mbdfmu.analyses.inputs import InputSchedule
from mbdfmu.analyses.simulate import simulate as advanced
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.forces import ForceElement
from mbdfmu.schemes import Scheme
from search.case import ORDER, POINTS, REFERENCE, Case, Finding, Undecided
from search.drawing import Draw
from search.fields import fits
from search.independent import NotCovered, independent
from search.modelica import translated
from search.motion import Motion, apart, motion, recorded, worst
from search.placing import placed
from search.sketch import Sample
from search.space import NotSaid, in_space

TOLERANCES = {2: 1e-8, 5: 1e-9, 8: 1e-10}  # by the order of a scheme: at least
TIGHT: dict[str, Any] = {"scheme": "radau", "tolerance": 1e-9}
CVODE = 1e-9  # relative tolerance; its errors are in proportion to it, up to 1200 times (seed 2002, 1e-7 to 1e-10)
PIECES = 20 * POINTS  # of output, as CVode has a budget of steps for each
EXCHANGED = 1e-8  # by which model exchange is bound: its absolute tolerances are tighter for small states
MODELICA = 1e-8  # of rumoca, which neither locates kinks nor projects as tightly
NO_IMAGE = "has no mirror image", "no known sign in a mirrored"  # of a spring's table, of some reactions
CHANGED = 0.5  # share of the numbers that become parameters
LOOSE, WORSE, COARSE = 1e-3, 10.0, 0.5  # a tolerance, how much worse uneven steps may be, where nothing is said
MOST = 400  # communication steps
DENSE = 10  # times as many points
# Of a run within so many bounds the error must fall so much with so small a part of the tolerance.
NEAR, FALLS, TIGHTER = 10.0, 20.0, 1e-2
Way = Callable[[Case], Iterator[Finding]]
Rerun = Callable[[], Motion]  # at a tighter tolerance


def tolerance(order: int) -> float:
    return TOLERANCES[max(known for known in TOLERANCES if known <= order)]


def judged(case: Case, way: str, run: Motion, bound: float, tighter: Rerun | None = None) -> Iterator[Finding]:
    """A finding where the run is off the reference; not where it is so by little, and less by a tighter tolerance."""
    yield from compared(case.reference, way, run, bound, tighter)


def compared(reference: Motion, way: str, run: Motion, bound: float, tighter: Rerun | None = None) -> Iterator[Finding]:
    found = apart(reference, run)
    near = tighter if bound < found <= NEAR * bound else None
    if found <= bound or (near is not None and FALLS * _error(reference, near) <= found):
        return
    name, size, time = worst(reference, run)
    yield Finding(way, f"{name} at t = {time:.4g} s", size, bound)


def _error(reference: Motion, run: Rerun) -> float:
    try:
        return apart(reference, run())
    except StepFailed:
        return np.inf


def orders() -> dict[str, int]:
    """Schemes by which a tight tolerance can be had."""
    members = {name: member().order_with_options for name, member in Scheme.members().items()}
    return {name: order for name, order in members.items() if order >= 2}


def schemes(case: Case) -> Iterator[Finding]:
    """All schemes, each at a tight tolerance; those of low order may be undecided where others are not."""
    names = list(orders())
    if case.few:
        names = [names[(case.sample.seed + k) % len(names)] for k in (0, 5, 10)]
    undecided = []
    for name in names:
        eps, order = tolerance(orders()[name]), orders()[name]
        try:
            bound = case.bound(eps, min(order, ORDER))
        except Undecided as why:
            undecided.append(why)
            continue
        try:
            run = case.run(scheme=name, tolerance=eps)
        except StepFailed as error:
            yield Finding(f"scheme {name}", f"ends: {error}", np.inf, bound)
        else:
            tighter = _tightened(case.run, eps, scheme=name)
            yield from _weighed(case, f"scheme {name}", run, eps, order, tighter)
    if len(undecided) == len(names):
        raise undecided[0]


def uneven(case: Case) -> Iterator[Finding]:
    """Advanced to random points, as a master with uneven steps does; loosely too."""
    draw = Draw(case.sample.seed, 1)
    times = np.union1d(case.grid, _points(draw, case.sample.end))
    for name in ("hht", draw.pick(list(orders()))):
        order = orders()[name]
        eps = tolerance(order)
        bound = case.bound(eps, min(order, ORDER))
        yield from _advanced(case, times, bound, name, eps, order)
    loose: dict[str, Any] = {"scheme": "hht", "tolerance": LOOSE}
    try:
        alone = apart(case.reference, case.run(**loose))
    except StepFailed as error:
        yield Finding("loose hht", f"ends: {error}", np.inf, 0.0)
        return
    bound = WORSE * max(alone, case.growth * LOOSE)  # smaller steps must not make it worse
    if bound < COARSE:
        yield from _advanced(case, times, bound, "hht", LOOSE)


def _advanced(
    case: Case, times: Any, bound: float, name: str, eps: float, order: int | None = None
) -> Iterator[Finding]:
    """With the order the bound follows from the steps."""
    way = f"uneven steps of {name} at {eps:g}"
    try:
        run = stepped(case, times, scheme=name, tolerance=eps)
    except StepFailed as error:
        yield Finding(way, f"ends: {error}", np.inf, bound)
    else:
        tighter = _tightened(partial(stepped, case, times), eps, scheme=name)
        yield from judged(case, way, run, bound) if order is None else _weighed(case, way, run, eps, order, tighter)


def _tightened(run: Callable[..., Motion], tolerance: float, **settings: Any) -> Rerun:
    return partial(run, tolerance=TIGHTER * tolerance, **settings)


def _weighed(case: Case, way: str, run: Motion, eps: float, order: int, tighter: Rerun) -> Iterator[Finding]:
    """A run by its tolerance, order and steps; not decided where so many steps say nothing."""
    try:
        bound = case.bound(eps, min(order, ORDER), run.steps)
    except Undecided:
        return
    yield from judged(case, way, run, bound, tighter)


def _points(draw: Draw, end: float) -> Any:
    """Sawteeth: cycles of factors times a size, for a while."""
    t, found = 0.0, []
    while t < end and len(found) < MOST:
        size, cycle = 10.0 ** draw.rng.uniform(-5, -2.5), draw.rng.uniform(1, 9, draw.count(2, 4))
        steps = np.tile(cycle, draw.count(3, 15)) * size
        found += (t + np.cumsum(steps)).tolist()
        t = found[-1]
    return [time for time in found if time < end]


def stepped(case: Case, times: Any, **settings: Any) -> Motion:
    """Through all times, none of which the solver knows before it has come to the last one."""
    simulation, names = case.model.start(**settings), recorded(case.model)
    schedule = InputSchedule.make(case.sample.inputs or None, [s.name for s in case.model.symbolic.inputs])
    found = advanced(simulation, times, names, schedule)
    if found.failure is not None:
        raise found.failure
    columns = dict(zip(names, found.values.T, strict=True))
    run = motion(case.model, columns, found.time, case.grid, found.events)
    return replace(run, steps=int(simulation.statistics["steps"]))


def output(case: Case) -> Iterator[Finding]:
    """Many points of output, and few."""
    draw = Draw(case.sample.seed, 2)
    name = draw.pick(list(orders()))
    eps, order = tolerance(orders()[name]), orders()[name]
    bound = case.bound(eps, min(order, ORDER))
    for points in (1, DENSE * 20):
        try:
            run = case.run(scheme=name, tolerance=eps, points=points)
        except StepFailed as error:
            yield Finding(f"{points} points of {name}", f"ends: {error}", np.inf, bound)
        else:
            tighter = _tightened(case.run, eps, scheme=name, points=points)
            yield from _weighed(case, f"{points} points of {name}", run, eps, order, tighter)


def restored(case: Case) -> Iterator[Finding]:
    """Saved on the way, and gone on from there in another simulation: bit for bit."""
    draw = Draw(case.sample.seed, 3)
    name = draw.pick(list(Scheme.members()))
    settings: dict[str, Any] = {"scheme": name, "tolerance": 1e-5}
    times = np.sort(draw.rng.uniform(0.05, 0.95, 6)) * case.sample.end
    first = case.model.start(**settings)
    try:
        _led(case, first, 0.0, times[:3])
        saved = first.save()
        other = case.model.start(**settings)
        other.restore(saved)
        _led(case, first, times[2], times[3:])
    except StepFailed:
        return  # other ways tell
    try:
        _led(case, other, times[2], times[3:])
    except (ModelError, StepFailed) as error:
        yield Finding(f"restored {name}", f"ends: {error}", np.inf, 0.0)
        return
    if not np.array_equal(first.values(), other.values(), equal_nan=True):
        at = int(np.argmax(np.abs(first.values() - other.values())))
        yield Finding(f"restored {name}", first.names[at], float(np.max(np.abs(first.values() - other.values()))), 0.0)


def _led(case: Case, simulation: mbd.Simulation, begin: float, times: Any) -> None:
    """Inputs are held between the times."""
    now = begin
    for time in times:
        for name, (points, values) in case.sample.inputs.items():
            simulation.set_input(name, float(np.interp(now, points, values)))
        simulation.advance(float(time))
        now = time


def shuffled(case: Case) -> Iterator[Finding]:
    """Elements in another order."""
    draw, data = Draw(case.sample.seed, 4), copy.deepcopy(case.sample.data)
    for name, entries in data.items():
        if isinstance(entries, dict) and name != "events":  # those at one time occur in their order
            keys = list(entries)
            draw.rng.shuffle(keys)
            data[name] = {key: entries[key] for key in keys}
    yield from _rebuilt(case, "shuffled", data)


def _rebuilt(case: Case, way: str, data: dict[str, Any]) -> Iterator[Finding]:
    """A model that says the same in other words."""
    bound = case.bound(TIGHT["tolerance"], ORDER)
    model = Sample(case.sample.seed, data, case.sample.inputs, case.sample.end).model()
    try:
        run = case.run(model, **TIGHT)
    except StepFailed as error:
        yield Finding(way, f"ends: {error}", np.inf, bound)
    else:
        tighter = _tightened(partial(case.run, model), **TIGHT)
        yield from judged(case, way, run, bound, tighter)


def by_hand(case: Case) -> Iterator[Finding]:
    """Other equations, integrated by another program; it is slow, so for the first half."""
    bound = case.bound(REFERENCE["tolerance"], ORDER)
    yield from judged(case, "independent equations", independent(case.sample, case.grid[: POINTS // 2 + 1]), bound)


def spatial(case: Case) -> Iterator[Finding]:
    """A planar model as it is said in space."""
    if case.sample.dimensions == 3:
        raise NotCovered("it is spatial")
    try:
        data = in_space(case.sample.data)
    except NotSaid as why:
        raise NotCovered(str(why)) from None
    if turned := _past_half_turn(case):
        yield from noted(case, data, turned)
    else:
        yield from _rebuilt(case, "in space", data)


def _past_half_turn(case: Case) -> list[str]:
    """Bushings whose angle passes half a turn: it counts on in the plane; in space the torque jumps (T4.11)."""
    held = [name for name, force in case.sample.data.get("forces", {}).items() if force["type"] == "bushing"]
    if not held:
        return []
    shown: dict[str, Any] = {"record": [f"{name}.angle" for name in held], "inputs": case.sample.inputs or None}
    try:
        found = case.model.simulate(case.sample.end, case.sample.end / (DENSE * POINTS), **shown, **TIGHT)
    except StepFailed as error:
        raise Undecided(f"the planar model ends: {error}") from None
    return [name for name in held if np.max(np.abs(found[f"{name}.angle"])) > np.pi]


def noted(case: Case, data: dict[str, Any], bushings: list[str]) -> Iterator[Finding]:
    """What jumps in space is another motion, which has to be said."""
    model = Sample(case.sample.seed, data, case.sample.inputs, case.sample.end).model()
    step = case.sample.end / (DENSE * POINTS)
    notes = " ".join(model.simulate(case.sample.end, step, inputs=case.sample.inputs or None, **TIGHT).notes)
    for name in bushings:
        if f"bushing '{name}' passed half a turn" not in notes:
            yield Finding("in space", f"no note that bushing '{name}' passed half a turn", np.inf, 0.0)


def parameters(case: Case) -> Iterator[Finding]:
    """Numbers of forces and masses as parameters that are set, and the same written into a model that is built anew."""
    draw, data = Draw(case.sample.seed, 5), copy.deepcopy(case.sample.data)
    anew, values = copy.deepcopy(data), {}
    for section, name, key in _numbers(data):
        if not draw.chance(CHANGED):
            continue
        parameter, old = f"p{len(values) + 1}", data[section][name][key]
        new = old * draw.number(0.8, 1.25)
        if not _accepted(section, anew[section][name] | {key: new}):
            continue
        values[parameter] = new
        data[section][name][key], anew[section][name][key] = parameter, values[parameter]
        data["parameters"][parameter] = old
    if not values:
        raise NotCovered("no numbers to change")
    bound = case.bound(TIGHT["tolerance"], ORDER)
    runs = []
    for described, given in ((data, values), (anew, {})):
        changed = Case(replace(case.sample, data=described))
        try:
            runs.append(changed.run(**TIGHT, parameters=given or None, assemble=True))
        except StepFailed as error:
            runs.append(str(error))
    yield from _alike("parameters set", *runs, bound=bound)


def _numbers(data: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Numbers that may be parameters."""
    for section in ("forces", "bodies"):
        for name, entry in data.get(section, {}).items():
            yield from ((section, name, key) for key, value in entry.items() if isinstance(value, float))


def _accepted(section: str, entry: dict[str, Any]) -> bool:
    """Whether a force's own bounds allow its numbers."""
    if section != "forces":
        return True
    return fits(ForceElement.named(entry["type"]), {k: v for k, v in entry.items() if k not in ("type", "i", "j")})


def _alike(way: str, one: Motion | str, other: Motion | str, bound: float) -> Iterator[Finding]:
    """Two runs of the same equations, or the same failure."""
    if isinstance(one, str) and isinstance(other, str):
        return
    if isinstance(one, str) or isinstance(other, str):
        yield Finding(way, f"one ends: {one if isinstance(one, str) else other}", np.inf, bound)
    else:
        yield from compared(one, way, other, bound)


def parted(case: Case) -> Iterator[Finding]:
    """The whole model as a part of another, turned, mirrored and moved, against its image."""
    bound = case.bound(TIGHT["tolerance"], ORDER)
    sample, places, prefix = placed(case.sample)
    try:
        sample.model()
    except ModelError as error:  # what has no image is refused by name
        if not any(words in str(error) for words in NO_IMAGE):
            raise
        sample, places, prefix = placed(case.sample, mirrors=False)
    part = Case(sample)
    try:
        run = _freed(part, prefix, **TIGHT)
    except StepFailed as error:
        yield Finding("as a part", f"ends: {error}", np.inf, bound)
        return
    image = case.reference
    for place in places:
        image = place.image(image)
    yield from compared(image, "as a part", run, bound, _tightened(partial(_freed, part, prefix), **TIGHT))


def _freed(part: Case, prefix: str, **settings: Any) -> Motion:
    """Without the name of the part."""
    run = part.run(**settings)

    def short(names: dict[str, Any]) -> dict[str, Any]:
        return {name.removeprefix(prefix): value for name, value in names.items()}

    return replace(run, bodies=short(dict(run.bodies)), states=short(dict(run.states)))


def fmu(case: Case) -> Iterator[Finding]:
    """Exported and run from outside: co-simulation of FMI 2.0 and 3.0, bound by the steps that inputs want."""
    for interface in ("cs2", "cs3"):
        with TemporaryDirectory() as folder:
            path = case.model.export_fmu(Path(folder) / "drawn.fmu", "native", interface=interface, **TIGHT)
            names = recorded(case.model)
            bound = case.bound(TIGHT["tolerance"], ORDER)
            options: dict[str, Any] = {"inputs": case.sample.inputs or None, "record": names}
            try:
                found = mbd.fmu.simulate(path, case.sample.end, case.sample.end / POINTS, **options)
            except (ModelError, StepFailed) as error:
                yield Finding(interface, f"ends: {error}", np.inf, bound)
                continue
        run = motion(case.model, found, found.time, case.grid, case.reference.events)
        yield from judged(case, interface, run, bound)


def exchanged(case: Case) -> Iterator[Finding]:
    """Model exchange of FMI 2.0, integrated by CVode between its events."""
    bound = case.bound(EXCHANGED, ORDER)
    with TemporaryDirectory() as folder:
        path = case.model.export_fmu(Path(folder) / "drawn.fmu", "native", interface="me2", **TIGHT)
        options: dict[str, Any] = {"inputs": case.sample.inputs or None, "record": recorded(case.model)}
        try:
            found = mbd.fmu.simulate(path, case.sample.end, case.sample.end / PIECES, tolerance=CVODE, **options)
        except (ModelError, StepFailed) as error:
            yield Finding("me2", f"ends: {error}", np.inf, bound)
            return
    run = motion(case.model, found, found.time, case.grid, case.reference.events)
    yield from judged(case, "me2", run, bound)


def modelica(case: Case) -> Iterator[Finding]:
    """The text of equations, run by another tool."""
    bound = case.bound(MODELICA, ORDER)
    try:
        run = translated(case)
    except (NotCovered, Undecided):
        raise
    except Exception as error:  # of a parser: the text is wrong
        yield Finding("modelica", f"is refused: {error}", np.inf, bound)
    else:
        yield from judged(case, "modelica", run, bound)


ALL: tuple[Way, ...] = (
    schemes, uneven, output, restored, shuffled, by_hand, spatial, parameters, parted, fmu, exchanged, modelica,
)  # fmt: skip
WAYS: dict[str, Way] = {way.__name__: way for way in ALL}
