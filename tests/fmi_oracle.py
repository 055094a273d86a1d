"""What FMI 2.0.4 allows a master of co-simulation to call, and random calls with what must come of them; no test here.

Written from section 4.2.4 of the standard (the table of states and functions), independent of our slave. It knows an
FMU by its XML only. Asynchronous states do not occur (canRunAsynchronuously is false), and a failed step leaves the
slave in stepComplete: it is taken back.

Where our slave allows more than the standard asks for, EXTENSIONS says so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from mbdfmu.fmi.reading import FmuInfo, FmuVariable

NONE, INSTANTIATED, INITIALIZATION, STEP, TERMINATED = "none", "instantiated", "initialization", "step", "terminated"
ALIVE = {INSTANTIATED, INITIALIZATION, STEP, TERMINATED}

# Section 4.2.4: in which states a function may be called. Parameters and inputs: notes 1, 3 and 6 of the table.
ALLOWED = {
    "setup": {INSTANTIATED},
    "enter": {INSTANTIATED},
    "exit": {INITIALIZATION},
    "terminate": {STEP},
    "reset": ALIVE,
    "get": {INITIALIZATION, STEP, TERMINATED},
    "set fixed": {INSTANTIATED, INITIALIZATION},
    "set tunable": {INSTANTIATED, INITIALIZATION, STEP},
    "set input": {INITIALIZATION, STEP},
    "slope": {INSTANTIATED, INITIALIZATION, STEP},
    "rates": {STEP, TERMINATED},
    "derivative": {INITIALIZATION, STEP, TERMINATED},
    "step": {STEP},
    "status": {STEP, TERMINATED},
    "cancel": set(),
    "save": ALIVE,
    "restore": ALIVE,
    "forget": ALIVE,
    "write": ALIVE,
    "load": ALIVE,
    "debug": ALIVE,
}
# More than that: masters do it, and it does no harm. (Reading locals in the initialization mode is allowed too, and
# after a refused call, which changes nothing, the instance goes on; by the standard it would be in the state error.)
EXTENSIONS = {"set input": {INSTANTIATED}}

SLOTS = range(4)
ENOUGH = 1e12  # beyond every bound, and a time no run ends at


@dataclass(frozen=True)
class Machine:
    """What a master has to remember of an instance."""

    state: str = NONE
    set_up: bool = False
    time: float = 0.0
    stop: float | None = None
    told: Mapping[str, float] = field(default_factory=dict)  # what was set and stays, by name
    sloped: frozenset[str] = frozenset()  # inputs that move during the next step
    version: int = 0  # of all values: two machines of one version read the same to the last bit

    def may(self, what: str) -> bool:
        return self.state in ALLOWED[what] | EXTENSIONS.get(what, set())


@dataclass(frozen=True)
class Move:
    """One call: its line for the host, whether it must be accepted, and what the instance must be like afterwards."""

    line: str
    accepted: bool
    machine: Machine
    looks: bool = False  # whether it reads all that is watched


class Player:
    """Makes up calls for one FMU; the same seed gives the same calls."""

    def __init__(self, facts: FmuInfo, watched: Sequence[FmuVariable], folder: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.watched = watched
        self.machine = Machine()
        self.versions = 0
        self.saved: dict[int, Machine] = {}  # by slot
        self.written: dict[str, Machine] = {}  # by file
        self.by_kind = {
            "fixed": [v for v in facts.variables if v.causality == "parameter" and v.variability == "fixed"],
            "tunable": [v for v in facts.variables if v.causality == "parameter" and v.variability == "tunable"],
            "input": [v for v in facts.variables if v.causality == "input"],
            "output": [v for v in facts.variables if v.causality == "output"],
            "text": [v for v in facts.variables if v.type == "String"],
            "choice": [v for v in facts.variables if v.name == "solver.log_level"],
            "whole": [v for v in facts.variables if v.type in ("Integer", "Enumeration")],
        }
        self.by_kind = {
            kind: [v for v in found if kind in ("text", "choice", "whole") or _plain(v)]
            for kind, found in self.by_kind.items()
        }
        self.unknown = 1 + max(v.reference for v in facts.variables)
        self.look = "getreal " + " ".join(str(v.reference) for v in watched)

    # ---- one sequence

    def sequence(self, length: int, only: Callable[[Move], bool] = lambda move: True) -> list[Move]:
        """From instantiate to free; `only` the moves that it takes."""
        self.saved, self.written = {}, {}
        self._change(Machine, state=INSTANTIATED)
        moves = [self._done(f"instantiate logging={self.random.randrange(2)}", True)]
        while len(moves) < length:
            before, move = self.machine, self._move()
            if not only(move):
                self.machine = before
                continue
            moves.append(move)
            if self.machine.may("get"):
                moves.append(Move(self.look, True, self.machine, looks=True))
        return [*moves, Move("free", True, Machine())]

    def _change(self, how: Callable[..., Machine] | None = None, **fields: Any) -> None:
        """What the instance is from now on; other values than before."""
        self.versions += 1
        self.machine = (how or partial(replace, self.machine))(**fields, version=self.versions)

    def _without(self, names: Iterable[str]) -> dict[str, float]:
        return {name: x for name, x in self.machine.told.items() if name not in names}

    def _done(self, line: str, accepted: bool) -> Move:
        return Move(line, accepted, self.machine)

    def _move(self) -> Move:
        """A call that leads on in most cases, else any."""
        m = self.machine
        onwards = {INSTANTIATED: self._enter if m.set_up else self._setup, INITIALIZATION: self._exit}
        chance = self.random.random()
        if chance < 0.3 and m.state in onwards:
            return onwards[m.state]()
        if chance < 0.3 and m.state == STEP:
            return self._step()
        return self.random.choice(self._calls())()

    def _calls(self) -> list[Callable[[], Move]]:
        return [
            self._setup, self._enter, self._exit, self._terminate, self._reset, self._get, self._get_wrongly,
            self._set, self._set, self._set_wrongly, self._set_wrongly, self._slope, self._slope_wrongly, self._rates,
            self._derivative, self._step, self._step_wrongly, self._step_wrongly, self._status, self._cancel,
            self._save, self._save, self._restore, self._restore, self._forget, self._write, self._load, self._debug,
            self._text, self._choose, self._whole,
        ]  # fmt: skip

    # ---- lifecycle

    def _setup(self) -> Move:
        start = self.random.choice([0.0, 0.0, -1.5, 10.0])
        stop = self.random.choice([None, start + 0.05, start + 1.0])
        tolerance = self.random.choice(["-", "1e-4", "1e-6"])
        wrong = self.random.choice(
            [None, None, None, "nan - -", "inf - -", "1 0.5 -", "0 - nan", "0 - -1e-3", "0 nan -"]
        )
        accepted = self.machine.may("setup") and wrong is None
        if accepted:
            self._change(set_up=True, time=start, stop=stop)
        good = f"{start!r} {'-' if stop is None else stop} {tolerance}"
        return self._done(f"setup {wrong or good}", accepted)

    def _to(self, what: str, state: str, condition: bool = True) -> Move:
        accepted = self.machine.may(what) and condition
        if accepted:
            self.machine = replace(self.machine, state=state)  # the values are those of before
        return self._done(what, accepted)

    def _enter(self) -> Move:
        return self._to("enter", INITIALIZATION)

    def _exit(self) -> Move:
        return self._to("exit", STEP)

    def _terminate(self) -> Move:
        return self._to("terminate", TERMINATED)

    def _reset(self) -> Move:
        self._change(Machine, state=INSTANTIATED)
        return self._done("reset", True)

    def _debug(self) -> Move:
        categories = self.random.choice(["", " logEvents", " logSolver logEvents", " logNothing"])
        return self._done(f"debug {self.random.randrange(2)}{categories}", "Nothing" not in categories)

    # ---- values

    def _any(self, *kinds: str) -> tuple[str, FmuVariable]:
        kind = self.random.choice([k for k in kinds if self.by_kind[k]])
        return kind, self.random.choice(self.by_kind[kind])

    def _get(self) -> Move:
        _, variable = self._any("fixed", "tunable", "input", "output")
        return self._done(f"getreal {variable.reference} {variable.reference}", self.machine.may("get"))

    def _get_wrongly(self) -> Move:
        _, variable = self._any("fixed", "input", "output")
        wrong = self.random.choice([f"getreal {self.unknown}", f"getinteger {variable.reference}", "getreal 4294967295",
                                    f"getboolean {variable.reference}", f"getstring {variable.reference}",
                                    f"getreal {variable.reference} {self.unknown}"])  # fmt: skip
        return self._done(wrong, False)

    def _text(self) -> Move:
        """Constant texts can be read, not set."""
        if not self.by_kind["text"]:
            return self._debug()
        _, variable = self._any("text")
        if self.random.random() < 0.5:
            return self._done(f"string {variable.reference} other", False)
        return self._done(f"getstring {variable.reference}", self.machine.may("get"))

    def _choose(self) -> Move:
        """An enumeration that changes no value."""
        if not self.by_kind["choice"]:
            return self._debug()
        _, variable = self._any("choice")
        value = self.random.choice([1, 2, 3, 4, 0, 5, -1])
        accepted = self.machine.may("set fixed") and 1 <= value <= 4
        return self._done(f"integer {variable.reference} {value}", accepted)

    def _whole(self) -> Move:
        """Numbers of items and of events are read as integers, and as nothing else."""
        if not self.by_kind["whole"]:
            return self._debug()
        _, variable = self._any("whole")
        function = self.random.choice(["getinteger", "getinteger", "getreal", "getboolean"])
        accepted = self.machine.may("get") and function == "getinteger"
        return self._done(f"{function} {variable.reference}", accepted)

    def _value(self, v: FmuVariable) -> float:
        low = v.minimum if v.minimum is not None else -1.0
        high = v.maximum if v.maximum is not None else max(low, 0.0) + 1.0
        return low + (high - low) * self.random.choice([0.25, 0.5, 0.75])

    def _set(self) -> Move:
        kind, variable = self._any("fixed", "tunable", "input")
        value, accepted = self._value(variable), self.machine.may(f"set {kind}")
        if accepted:
            self._change(told={**self.machine.told, variable.name: value})
        return self._done(f"real {variable.reference} {value!r}", accepted)

    def _set_wrongly(self) -> Move:
        _, variable = self._any("fixed", "tunable", "input")
        _, computed = self._any("output")
        bounded = [v for kind in ("fixed", "tunable") for v in self.by_kind[kind] if v.minimum is not None]
        good = f"{variable.reference} {self._value(variable)!r}"
        wrong = [f"{self.unknown} 1", f"{computed.reference} 1", f"{variable.reference} nan",
                 f"{variable.reference} inf", f"{good} {variable.reference} -inf",
                 f"{good} {self.unknown} 1"]  # fmt: skip
        wrong += [f"{v.reference} {-ENOUGH!r}" for v in bounded[:1]]
        line = self.random.choice([*(f"real {w}" for w in wrong), f"integer {variable.reference} 1",
                                   f"boolean {variable.reference} 1", f"string {variable.reference} 1"])  # fmt: skip
        return self._done(line, False)

    def _slope(self) -> Move:
        _, variable = self._any("input")
        accepted = self.machine.may("slope")
        if accepted:
            self._change(sloped=self.machine.sloped | {variable.name})
        return self._done(f"slope 1 {variable.reference} {self.random.choice([-1.0, 0.0, 2.0])!r}", accepted)

    def _slope_wrongly(self) -> Move:
        _, variable = self._any("input")
        _, other = self._any("fixed", "output")
        wrong = [f"1 {variable.reference} nan", f"1 {other.reference} 1", f"0 {variable.reference} 1",
                 f"-1 {variable.reference} 1", f"1 {self.unknown} 1"]  # fmt: skip
        return self._done(f"slope {self.random.choice(wrong)}", False)

    def _rates(self) -> Move:
        _, variable = self._any("output")
        wrong = self.random.choice([None, None, f"rates 0 {variable.reference}", f"rates 1 {self.unknown}"])
        return self._done(wrong or f"rates 1 {variable.reference}", self.machine.may("rates") and wrong is None)

    def _derivative(self) -> Move:
        _, unknown = self._any("output")
        _, known = self._any("input")
        wrong = self.random.choice([None, None, f"{self.unknown} {known.reference} 1",
                                    f"{unknown.reference} {self.unknown} 1"])  # fmt: skip
        accepted = self.machine.may("derivative") and wrong is None
        return self._done(f"derivative {wrong or f'{unknown.reference} {known.reference} 1'}", accepted)

    # ---- steps

    def _step(self) -> Move:
        m = self.machine
        size = self.random.choice([1e-6, 1e-3, 0.01, 0.02])
        accepted = m.may("step") and (m.stop is None or m.time + size <= m.stop + 1e-9)
        line = f"step {m.time!r} {size!r}"
        if accepted:
            self._change(time=m.time + size, told=self._without(m.sloped), sloped=frozenset())
        return self._done(line, accepted)

    def _step_wrongly(self) -> Move:
        t = self.machine.time
        wrong = [f"{t!r} 0", f"{t!r} -0.01", f"{t!r} nan", f"{t!r} inf", f"{t + 0.005!r} 0.01", f"{t - 0.01!r} 0.01",
                 "nan 0.01", "inf 0.01", f"{t!r} 1e300", f"{t!r} -1e-300", f"{t!r} {ENOUGH!r}"]  # fmt: skip
        return self._done(f"step {self.random.choice(wrong)}", False)

    def _status(self) -> Move:
        return self._done(self.random.choice(["lasttime", "ended"]), self.machine.may("status"))

    def _cancel(self) -> Move:
        return self._done("cancel", False)

    # ---- states

    def _save(self) -> Move:
        slot = self.random.choice(SLOTS)
        self.saved[slot] = self.machine
        return self._done(f"save {slot}", self.machine.may("save"))

    def _restore(self) -> Move:
        slot = self.random.choice(SLOTS)
        known = slot in self.saved
        self.machine = self.saved.get(slot, self.machine)
        return self._done(f"restore {slot}", known)

    def _forget(self) -> Move:
        slot = self.random.choice(SLOTS)
        self.saved.pop(slot, None)
        return self._done(f"forget {slot}", True)  # of nothing: no effect, as with free

    def _write(self) -> Move:
        slot, file = self.random.choice(SLOTS), f"{self.folder}/state{self.random.randrange(3)}"
        if slot in self.saved:
            self.written[file] = self.saved[slot]
        return self._done(f"write {slot} {file}", slot in self.saved)

    def _load(self) -> Move:
        if not self.written:
            return self._write()
        file, slot = self.random.choice(sorted(self.written)), self.random.choice(SLOTS)
        self.saved[slot] = self.written[file]
        return self._done(f"load {slot} {file}", True)


def _plain(v: FmuVariable) -> bool:
    """A number of the model that fits every other: settings of the solver and start values may exclude each other."""
    return v.type == "Real" and not v.name.startswith("solver.") and not v.name.endswith(".start")
