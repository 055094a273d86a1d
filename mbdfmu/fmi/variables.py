"""The table of an FMU's variables, made of the signal table and the solver's settings; must not know XML or archives.

Whoever writes an XML, packs an interface or documents an FMU reads this table and builds no second one. What depends on
what is said by value references, which stay when the table gets shorter.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from mbdfmu.analyses import Settings
from mbdfmu.analyses.settings import LOOSEST, TIGHTEST
from mbdfmu.analyses.stepping import kept_coordinates
from mbdfmu.errors import ModelError
from mbdfmu.fmi.dependencies import Dependencies
from mbdfmu.fmi.types import Enumeration, Value
from mbdfmu.lowering import Lowered
from mbdfmu.schemes import Scheme
from mbdfmu.signals import Signal
from mbdfmu.units import differentiated

# Numbers in interface.mbd are places in these, as in solver/interface.hpp.
TYPES = ("Real", "Integer", "Boolean", "String", "Enumeration")
ROLES = SIGNAL, PARAMETER, INPUT, SETTING, TEXT, EVENTS, RATE, SLOPE = (
    "signal", "parameter", "input", "setting", "text", "events", "rate", "slope",
)  # fmt: skip
VARIABILITIES = ("constant", "fixed", "tunable", "discrete", "continuous")
SPACES = {"q": 1, "v": 2, "x": 3}

# Value references, which stay when the model gets more signals.
SETTINGS_FROM, OTHERS_FROM, SLOPES_FROM = 1_000_000, 2_000_000, 4_000_000
SOLVER = "solver."
OPTIONS = "solver.options."
START = ".start"
LOG_LEVELS = Enumeration(
    name="LogLevel",
    items=(
        ("errors", "failures only"),
        ("warnings", "and what a reader of the results has to know"),
        ("events", "and what occurs: events, impacts, restarts"),
        ("steps", "and every internal step"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The coordinates that assembly shall not move when the start value is set; of a signal the state that it is."""

    space: str  # "q" or "v"; of a signal "x" too
    first: int
    count: int  # three positions: an orientation


@dataclass(frozen=True, kw_only=True)
class Variable:
    """One variable of the FMU."""

    reference: int
    name: str
    role: str
    index: int  # of its first element in the solver's table of its role
    size: int = 1
    type: str = "Real"
    causality: str = "local"
    variability: str = "continuous"
    # Of what can be set, and of constants; of enumerations the number of the item, of arrays the value of each element.
    start: Value | tuple[Value, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None
    unit: str = ""
    text: str = ""
    choices: Enumeration | None = None
    kept: Kept | None = None
    derivative_of: int | None = None  # the reference of a continuous state
    # References of what the value holds between steps at fixed time and state, and while the start is computed; None:
    # nobody asks.
    depends: tuple[int, ...] | None = None
    initially: tuple[int, ...] | None = None

    @property
    def starts(self) -> tuple[Value, ...]:
        """The start value of every element."""
        if isinstance(self.start, tuple):
            return self.start
        return () if self.start is None else (self.start,)

    @property
    def settable(self) -> bool:
        """Whether an environment may give it a value at all."""
        return self.role in (PARAMETER, INPUT, SETTING, SLOPE)


@dataclass(frozen=True, kw_only=True)
class Table:
    """All variables of one FMU in order, and the name of its model."""

    model: str
    variables: tuple[Variable, ...] = field(repr=False)
    event_indicators: int | None = None  # of model exchange

    def with_role(self, *roles: str) -> list[Variable]:
        """The variables of these roles, in order."""
        return [v for v in self.variables if v.role in roles]

    def enumerations(self) -> list[Enumeration]:
        """What choices there are, each once."""
        return list({v.choices.name: v.choices for v in self.variables if v.choices}.values())


def table_of(
    lowered: Lowered, settings: Settings, tool: str, signals: Iterable[str] | None = None, *, assemble: bool = False
) -> Table:
    """The signals of the model, the settings of the solver, and what the FMU says about itself.

    `signals` are names or patterns of the local ones to be taken along; None means all. `tool` is what made the FMU.
    `assemble`: the start is assembled although nothing is changed.
    """
    wanted = _wanted(lowered, signals)
    of_signal = _SignalVariables(lowered)
    rows = enumerate(lowered.model.signals.values())
    variables = [of_signal(k, s) for k, s in rows if s.causality != "local" or s.name in wanted]
    variables += [*of_signal.slopes(), *_setting_variables(settings, assemble), *_others(lowered, tool)]
    _check_names(variables)
    return Table(model=lowered.model.description.name, variables=tuple(variables))


def structured(name: str) -> str:
    """A signal's name in FMI's structured naming, which knows der(x) but nothing behind it: `x.der.start`."""
    return re.sub(r"^der\(([\w.]+)\)(\.\w+)$", r"\1.der\2", name)


def rate_of(name: str) -> str:
    """What the rate of a variable is called ([FMI 2.0.4] section 2.2.9)."""
    already = re.fullmatch(r"der\((.+?)(?:,(\d+))?\)", name)
    return f"der({already[1]},{int(already[2] or 1) + 1})" if already else f"der({name})"


def _wanted(lowered: Lowered, patterns: Iterable[str] | None) -> set[str]:
    """Names of the local signals that are asked for; ModelError names the patterns that fit nothing."""
    names = lowered.model.signals
    if patterns is None:
        return set(names)
    given = [patterns] if isinstance(patterns, str) else list(patterns)
    found = {p: [n for n in names if n == p or fnmatch.fnmatchcase(n, p)] for p in given}
    problems = [f"signals: no signal fits {p!r}; `mbdfmu info` lists them" for p in given if not found[p]]
    if problems:
        raise ModelError(problems)
    return {name for fitting in found.values() for name in fitting}


# ---------------------------------------------------------------- signals


class _SignalVariables:
    """Makes the variable of every signal of one model."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self.dependencies = Dependencies(lowered)
        self.references = {name: k for k, name in enumerate(lowered.model.signals)}
        self.nominals = {s.name: s.nominal for s in lowered.model.states}
        inputs, felt = lowered.model.inputs, self.dependencies.inputs_whose_rate_is_felt()
        self.felt = {s.name: SLOPES_FROM + self.references[s.name] for s in inputs if s.name in felt}

    def __call__(self, k: int, signal: Signal) -> Variable:
        common: dict[str, Any] = {
            "reference": k, "name": structured(signal.name), "causality": signal.causality, "text": signal.text,
            "minimum": signal.minimum, "maximum": signal.maximum, "unit": signal.unit, "start": signal.start,
            "variability": signal.variability,
        }  # fmt: skip
        if signal.causality == "input":
            return Variable(role=INPUT, index=self.lowered.inputs[signal.name], **common)
        if signal.causality == "parameter":
            index = self.lowered.parameters[signal.name]
            return Variable(role=PARAMETER, index=index, kept=self._kept(signal.name), **common)
        return Variable(role=SIGNAL, index=k, nominal=self._nominal(signal), depends=self._depends(signal),
                        initially=self._initially(signal), **common)  # fmt: skip

    def slopes(self) -> Iterator[Variable]:
        """The rates of inputs are inputs too: what comes from outside has none that an FMU could find."""
        for name, reference in self.felt.items():
            of = self.lowered.model.signals[name]
            yield Variable(
                reference=reference, name=rate_of(structured(name)), role=SLOPE, index=self.lowered.inputs[name],
                causality="input", start=0.0, unit=differentiated(of.unit),
                text=f"rate of {name}, which the model feels; 0 while {name} is held",
            )  # fmt: skip

    def _kept(self, name: str) -> Kept | None:
        """The coordinates whose start value the parameter is."""
        kept = kept_coordinates(name.removesuffix(START), self.lowered) if name.endswith(START) else None
        return kept and Kept(space=kept[0], first=kept[1][0], count=len(kept[1]))

    def _nominal(self, signal: Signal) -> float | None:
        value = signal.node.value
        return self.nominals.get(value[1]) if isinstance(value, tuple) and value[0] == "x" else None

    def _depends(self, signal: Signal) -> tuple[int, ...] | None:
        if signal.causality not in ("output", "local"):
            return None
        return self._sorted(self.dependencies.inputs_of(signal.node))

    def _initially(self, signal: Signal) -> tuple[int, ...] | None:
        if signal.causality not in ("output", "calculatedParameter"):
            return None
        return self._sorted(self.dependencies.at_start(signal.node))

    def _sorted(self, names: Iterable[str]) -> tuple[int, ...]:
        """Of names and, where these are of inputs whose rate is felt, of the rates."""
        found = set(names)
        return tuple(sorted([self.references[name] for name in found] + [self.felt[n] for n in found & {*self.felt}]))


# ---------------------------------------------------------------- settings and the rest


def _setting_variables(settings: Settings, assemble: bool) -> Iterator[Variable]:
    for k, given in enumerate(_settings(settings, assemble)):
        yield Variable(reference=SETTINGS_FROM + k, role=SETTING, index=k, causality="parameter", variability="fixed",
                       **given)  # fmt: skip


def _settings(s: Settings, assemble: bool) -> Iterator[dict[str, Any]]:
    """What can be chosen about the solver, in the order of `Setting` in solver/interface.hpp."""
    yield _choice(f"{SOLVER}scheme", schemes(), s.scheme, "integration scheme")
    text = "of the local error, relative; where unchanged, the experiment's counts"
    yield _number(f"{SOLVER}tolerance", s.tolerance, TIGHTEST, LOOSEST, text)
    yield _number(f"{SOLVER}step", s.step or 0.0, 0.0, None, "fixed step; 0 = error-controlled", unit="s")
    yield _number(f"{SOLVER}first_step", s.first_step or 0.0, 0.0, None, "first step; 0 = chosen", unit="s")
    yield _number(f"{SOLVER}largest_step", s.largest_step or 0.0, 0.0, None, "largest step; 0 = no limit", unit="s")
    text = "smallest step, below which the solver gives up"
    yield _number(f"{SOLVER}smallest_step", s.smallest_step, min(1e-15, s.smallest_step), None, text, unit="s")
    text = "tries of a step in one communication step, after which the solver gives up"
    row = _number(f"{SOLVER}most_steps", s.most_steps, 1, None, text)
    yield {**row, "type": "Integer", "start": s.most_steps}
    yield _choice(f"{SOLVER}log_level", LOG_LEVELS, "warnings", "what is logged, beside the environment's own choice")
    text = "close the joints from a start that does not fit; a changed parameter or start value asks for it too"
    yield {"name": f"{SOLVER}assemble", "type": "Boolean", "start": assemble, "text": text}
    chosen = Scheme.named(s.scheme).from_options(s.options)
    for f in fields(chosen):
        yield _option(f"{OPTIONS}{f.name}", getattr(chosen, f.name), f.metadata)


def _number(
    name: str, value: float, low: float | None, high: float | None, text: str, unit: str = ""
) -> dict[str, Any]:
    return {"name": name, "start": float(value), "minimum": low, "maximum": high, "text": text, "unit": unit}


def _choice(name: str, choices: Enumeration, chosen: str, text: str) -> dict[str, Any]:
    return {"name": name, "type": "Enumeration", "choices": choices, "start": choices.number(chosen), "minimum": 1,
            "maximum": len(choices.items), "text": text}  # fmt: skip


def _option(name: str, value: Any, about: Any) -> dict[str, Any]:
    if about["choices"]:
        items = tuple((item, "") for item in about["choices"])
        title = "".join(word.capitalize() for word in name.removeprefix(OPTIONS).split("_"))
        return _choice(name, Enumeration(name=f"Option{title}", items=items), value, about["text"])
    low, high = (_finite(about[bound]) for bound in ("low", "high"))
    whole = isinstance(value, int)
    row = _number(name, value, low, high, about["text"])
    return {**row, "type": "Integer", "start": value} if whole else row


def schemes() -> Enumeration:
    """What may be chosen as `solver.scheme`, each item for ever under its number: parameter sets are stored by it."""
    items = ((scheme.type_name, _first_line(scheme)) for scheme in Scheme.numbered())
    return Enumeration(name="Scheme", items=tuple(items))


def _first_line(described: type) -> str:
    return (described.__doc__ or "").split("\n")[0]


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None


def _others(lowered: Lowered, tool: str) -> Iterator[Variable]:
    yield Variable(reference=OTHERS_FROM, name=f"{SOLVER}version", role=TEXT, index=0, type="String", start=tool,
                   variability="constant", text="what exported this FMU")  # fmt: skip
    model = lowered.model
    if model.events or model.crossings or model.impacts:
        yield Variable(reference=OTHERS_FROM + 1, name="events.count", role=EVENTS, index=0, type="Integer",
                       variability="discrete", minimum=0, text="events that have occurred since the start")  # fmt: skip


# ---------------------------------------------------------------- names

_PART = r"[A-Za-z_]\w*(?:\[\d+(?:,\d+)*\])?"
_PATH = rf"{_PART}(?:\.{_PART})*"
_STRUCTURED = re.compile(rf"{_PATH}|der\({_PATH}(?:,\d+)?\)", re.ASCII)


def _check_names(variables: Iterable[Variable]) -> None:
    """FMI 2.0.4 section 2.2.9: names are unique, and of the convention that the XML claims."""
    counts = Counter(v.name for v in variables)
    problems = [f"the FMU's variable '{n}' is there twice: the solver's settings are called so; rename the element"
                for n, count in counts.items() if count > 1]  # fmt: skip
    problems += [f"signal {n!r} has no name that FMI allows (letters, digits, _ and dots); rename the element"
                 for n in counts if not _STRUCTURED.fullmatch(n)]  # fmt: skip
    if problems:
        raise ModelError(problems)
