"""What a scheme is to users: a name, an order and a few checked options; must not know how any scheme computes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self

from mbdfmu.errors import ModelError, did_you_mean
from mbdfmu.registry import Registered


def option(
    default: Any, text: str, *, low: float = -math.inf, high: float = math.inf, choices: tuple[str, ...] = ()
) -> Any:
    """A field of a scheme's options: its default, one line about it, and what is allowed."""
    return field(default=default, metadata={"text": text, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True, kw_only=True)
class Scheme(Registered, family="scheme"):
    """Base of the schemes: a subclass lists its options in the order in which its native counterpart reads them."""

    number: ClassVar[int]  # of `solver.scheme` in FMUs, for ever: a new scheme takes the next one
    order: ClassVar[int]  # of positions and velocities, with the default options

    @classmethod
    def numbered(cls) -> list[type[Self]]:
        """All schemes by their numbers, which count from 1 on."""
        schemes = sorted(cls.members().values(), key=lambda scheme: scheme.number)
        if [scheme.number for scheme in schemes] != list(range(1, len(schemes) + 1)):
            numbers = ", ".join(f"{scheme.type_name} {scheme.number}" for scheme in schemes)
            raise TypeError(f"schemes have the numbers 1, 2, .. in FMUs, each once; found {numbers}")
        return schemes

    @property
    def order_with_options(self) -> int:
        """The order in any model; some options cost one, at least in some models."""
        return self.order

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Check the options and complete them by the defaults; all findings at once."""
        known = {f.name: f for f in fields(cls)}
        problems = [
            f"scheme '{cls.type_name}' has no option {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}"
            for name in options
            if name not in known
        ]
        checked = {name: cls._checked(known[name], value, problems) for name, value in options.items() if name in known}
        if problems:
            raise ModelError(problems)
        return cls(**checked)

    @classmethod
    def _checked(cls, f: Field[Any], value: Any, problems: list[str]) -> Any:
        where = f"scheme '{cls.type_name}': option {f.name}"
        choices = f.metadata["choices"]
        if choices:
            if value not in choices:
                problems.append(f"{where} must be one of {', '.join(choices)}, found {value!r}")
            return value
        try:
            number = float(value)
        except (TypeError, ValueError):
            problems.append(f"{where} must be a number, found {value!r}")
            return f.default
        low, high = f.metadata["low"], f.metadata["high"]
        if not low <= number <= high or math.isinf(number):
            allowed = f"lie in [{low:g}, {high:g}]" if math.isfinite(high) else f"be a finite number from {low:g} on"
            problems.append(f"{where} must {allowed}, found {value}")
            return f.default
        if isinstance(f.default, int) and number != int(number):
            problems.append(f"{where} must be a whole number, found {value}")
        return int(number) if isinstance(f.default, int) else number

    def native(self) -> list[float]:
        """The options as the numbers that the native scheme reads; a choice is its place in the list of choices."""
        return [self._number(f) for f in fields(self)]

    def _number(self, f: Field[Any]) -> float:
        value, choices = getattr(self, f.name), f.metadata["choices"]
        return float(choices.index(value)) if choices else float(value)
