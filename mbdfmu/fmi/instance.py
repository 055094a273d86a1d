"""One FMU that is loaded: its calls with messages for status codes, its start, its states, an orderly end.

fmpy loads and calls the FMU. Must not know what is done with it, nor who wrote it.
"""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mbdfmu.errors import Ended, ModelError, StepFailed
from mbdfmu.files import FULL
from mbdfmu.fmi.calls import DISCARD, ERROR, FATAL, WARNING, Calls2, Calls3, loading
from mbdfmu.fmi.hearing import Messages
from mbdfmu.fmi.host import hosting
from mbdfmu.fmi.reading import FmuInfo, FmuVariable
from mbdfmu.fmi.remote import Alone, RemoteCalls
from mbdfmu.fmi.stepped import Exchange2, Exchange3
from mbdfmu.fmi.types import Value
from mbdfmu.fmi.unpacking import unpack

Calls = Calls2 | Calls3 | RemoteCalls


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is said before a run."""

    t_start: float = 0.0
    t_end: float | None = None
    tolerance: float | None = None
    values: Sequence[tuple[FmuVariable, Value]] = ()


@dataclass
class _Life:
    """What has to be known to free an instance."""

    states: weakref.WeakSet[InstanceState] = field(default_factory=weakref.WeakSet)
    fatal: bool = False


class InstanceState:
    """A state that the FMU keeps until nobody holds this, or the FMU is closed."""

    def __init__(self, calls: Calls) -> None:
        self.owner, self.handle = calls, calls.get_state()
        self.release = weakref.finalize(self, calls.free_state, self.handle)


class Instance:
    """A loaded FMU; its library stays loaded and its files unpacked until it is closed, or nobody holds it.

    Here, or in a process of its own.
    """

    def __init__(self, facts: FmuInfo, *, follows: bool = False, alone: Alone | None = None) -> None:
        self.facts = facts
        self.time = 0.0  # s, as told by whoever steps it; for messages
        self.messages: Messages = []
        self._life = _Life()
        with ExitStack() as undo:
            self.calls: Calls
            if alone is None:
                folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="mbdfmu_", ignore_cleanup_errors=True))
                self.calls = loaded_into(folder, facts, self.messages, follows)
            else:
                self.calls = RemoteCalls(facts, self.messages, alone, follows=follows)
            undo.callback(_freed, self.calls, self._life)
            self._close = weakref.finalize(self, undo.pop_all().close)

    @property
    def is_open(self) -> bool:
        """Whether it can be called."""
        return self._close.alive

    def close(self) -> None:
        """Free the instance, its states and its files; a second time nothing happens."""
        self._close()

    # ---- lifecycle

    def prepare(self, experiment: Experiment) -> None:
        """Into the initialisation mode; what is set before is in the experiment. StepFailed where the FMU complains."""
        self.time = experiment.t_start
        self.call(self.calls.prepare, experiment.t_start, experiment.t_end, experiment.tolerance)
        for variable, value in experiment.values:
            self.call(self.calls.set, variable, value)
        self.call(self.calls.enter_initialisation)

    def begin(self) -> None:
        """Out of the initialisation mode; ModelError where the FMU has complained."""
        self.call(self.calls.leave_initialisation)
        complaint = said(self.messages, ERROR)
        if complaint:
            raise ModelError(f"FMU '{self.facts.name}' could not be initialised: {complaint}")

    def end(self) -> None:
        """Terminate; not for an FMU that has given up."""
        self.call(self.calls.terminate)

    # ---- steps

    def stepper(self, *, repeatable: bool = False) -> Callable[[float], None]:
        """A function that steps to a time; StepFailed says why it does not, Ended that the FMU wants to go no further.

        `repeatable`: steps may be taken back.
        """
        step = self.calls.stepper(repeatable=repeatable)

        def advance(end: float) -> None:
            heard = len(self.messages)
            status = step(self.time, end - self.time)
            if status > WARNING:
                raise self._refused(status, heard, end)
            self.time = end

        return advance

    def _refused(self, status: int, heard: int, end: float) -> StepFailed:
        from fmpy.fmi1 import FMICallException

        if status == DISCARD and self.facts.runtime != "python":  # pythonfmu says so of every step that fails
            with suppress(FMICallException):  # it does not know what it is asked
                reached = self.calls.ended_at()
                if reached is not None:
                    self.time = min(max(reached, self.time), end) if math.isfinite(reached) else self.time
                    words = "; ".join(dict.fromkeys(text.strip() for _, text in self.messages[heard:]))
                    told = f": {words}" if words else ""
                    text = f"FMU '{self.facts.name}' has ended the simulation at t = {self.time:g} s{told}"
                    return Ended(text, self.time)
        return self.failure(FMICallException(function="doStep", status=status), heard)

    @property
    def notes(self) -> list[str]:
        """What the FMU has warned of."""
        return list(dict.fromkeys(f"warning: {text.strip()}" for level, text in self.messages if level == WARNING))

    @property
    def is_lost(self) -> bool:
        """Whether it must not be called again, as it has said itself."""
        return self._life.fatal

    # ---- states

    @property
    def keeps_states(self) -> bool:
        """Whether it can go back."""
        return self.facts.capabilities.get("canGetAndSetFMUstate", False)  # fmpy's name for that of FMI 3.0 too

    def save(self) -> InstanceState:
        """The state, to be restored into this instance."""
        if not self.keeps_states:
            raise ModelError(f"FMU '{self.facts.name}' cannot save its state (canGetAndSetFMUstate is not true)")
        self.check_open()
        state: InstanceState = self.call(InstanceState, self.calls)
        self._life.states.add(state)
        return state

    def restore(self, state: InstanceState) -> None:
        """Go back (or on) to a state of this instance."""
        self.call(self.calls.set_state, state.handle)

    # ---- calls

    def check_open(self) -> None:
        """ModelError where it is closed."""
        if not self._close.alive:
            raise ModelError(f"FMU '{self.facts.name}' is closed; open it again")

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """An FMI function; StepFailed with what the FMU has said if it is not content."""
        from fmpy.fmi1 import FMICallException

        self.check_open()
        before = len(self.messages)
        try:
            with hosting():
                return function(*arguments)
        except FMICallException as error:
            raise self.failure(error, before) from None

    def check_finite(self, variables: Sequence[FmuVariable], values: Iterable[Any]) -> None:
        """What the FMU gives out is no number: StepFailed names the first of the variables of which this is so."""
        for variable, value in zip(variables, values, strict=True):
            if isinstance(value, float) and not math.isfinite(value):
                raise StepFailed(
                    f"FMU '{self.facts.name}' gave out {value} for '{variable.name}' at t = {self.time:g} s, which is "
                    f"not finite{self._told()}"
                )

    def _told(self) -> str:
        told = said(self.messages)
        return f"; it said: {told}" if told else ""

    def failure(self, error: Any, before: int = 0) -> StepFailed:
        """What a call that fmpy was not content with means; `before` counts the messages from before the call."""
        self._life.fatal = self._life.fatal or error.status == FATAL
        reason = said(self.messages[before:]) or said(self.messages) or f"{error}"
        return StepFailed(f"FMU '{self.facts.name}' gave up at t = {self.time:g} s: {reason}")


def said(messages: Iterable[tuple[int, str]], status: int = WARNING) -> str:
    """What the FMU has logged at a status or a worse one, each text once."""
    return "; ".join(dict.fromkeys(text.strip() for level, text in messages if level >= status))


# ---------------------------------------------------------------- loading


def _freed(calls: Calls, life: _Life) -> None:
    """States first: they live in the instance. After fmi2Fatal no function may be called (FMI 2.0, section 2.1.3)."""
    for state in list(life.states):
        if life.fatal:
            state.release.detach()
        state.release()
    if life.fatal:
        calls.abandon()
        return
    with hosting():
        calls.free()


def loaded_into(folder: str, facts: FmuInfo, messages: Messages, follows: bool) -> Calls2 | Calls3:
    """The FMU, unpacked into the folder and instantiated in this process."""
    _check_folder(facts, Path(folder))
    try:
        with hosting():
            return _loaded(facts, folder, messages, follows=follows)
    except Exception as error:  # fmpy has no narrower one
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        raise ModelError(f"{facts.path}: cannot be loaded: {said(messages) or error}") from error


def _loaded(facts: FmuInfo, folder: str, messages: Messages, *, follows: bool) -> Calls2 | Calls3:
    """`follows`: inputs may change within steps."""
    from fmpy import read_model_description

    unpack(facts.path, folder)
    description = read_model_description(folder, validate=False)
    kinds = (Exchange2, Exchange3) if facts.is_integrated else (Calls2, Calls3)
    kind = kinds[0] if facts.fmi_version.startswith("2") else kinds[1]
    with loading():
        return kind(facts, folder, description, messages, follows=follows)


def _check_folder(facts: FmuInfo, folder: Path) -> None:
    if facts.runtime == "python":
        import pythonfmu  # noqa: F401  the installed one, not the copy inside the FMU, whose folder will vanish

        if not plain_folder(folder):
            raise ModelError(
                f"{facts.path}: was made by pythonfmu, which cannot be loaded from '{folder}': the path holds "
                "more than ASCII letters, digits, blanks and -._~; set the environment variable TMPDIR (Windows: TEMP) "
                "to a plain folder"
            )


def plain_folder(folder: Path) -> bool:
    """Whether pythonfmu can read resources below the folder: of a URI its wrapper decodes the blank and nothing else.

    With any other one (such as a letter with umlaut) it does not fail but crash, so the folder is looked at before.
    """
    uri = folder.absolute().as_uri()
    return Path(uri.removeprefix("file:///" if os.name == "nt" else "file://").replace("%20", " ")) == folder.absolute()
