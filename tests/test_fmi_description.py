"""What an FMU says about itself, in its XML and in the files of its resources."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import mbdfmu as mbd
from mbdfmu.analyses import Settings
from mbdfmu.fmi.interface import packed
from mbdfmu.fmi.variables import PARAMETER, ROLES, SETTING, TYPES, Table, Variable, table_of
from mbdfmu.schemes import Scheme

FAMILIES = {"chain": {"N": 3}, "four_bar": {}}
TOOL = "mbdfmu 1.2.3"


def shipped(name: str) -> mbd.Model:
    return mbd.models.load(name, **FAMILIES.get(name, {}))


def table(model: mbd.Model, **given: Any) -> Table:
    return table_of(model.compile().lowered, Settings(), TOOL, **given)


def sections(blob: bytes) -> dict[str, Any]:
    """The sections of a container, by a second reader: solver/blob.hpp."""
    assert blob[:8] == b"MBDFMU\r\n"
    (count,) = struct.unpack_from("<I", blob, 12)
    found, at = {}, 32
    for _ in range(count):
        raw, kind, _, n = struct.unpack_from("<16sIIQ", blob, at)
        size = (4, 8, 1)[kind] * n
        data = blob[at + 32 : at + 32 + size]
        name = raw.rstrip(b"\0").decode()
        found[name] = data.decode() if kind == 2 else np.frombuffer(data, ("<i4", "<f8")[kind])
        at += 32 + (size + 7) // 8 * 8
    assert at == len(blob)
    return found


# ---------------------------------------------------------------- interface.mbd


def test_the_interface_holds_the_table() -> None:
    t = table(mbd.models.load("pendulum3d"))
    found = sections(packed(t, "abc", TOOL))
    assert (found["model"], found["guid"], found["tool"]) == ("pendulum3d", "abc", TOOL)
    assert found["names"].splitlines() == [v.name for v in t.variables]
    rows = found["variables"].reshape(-1, 9)
    assert list(rows[:, 0]) == [v.reference for v in t.variables]
    assert [TYPES[k] for k in rows[:, 1]] == [v.type for v in t.variables]
    assert [ROLES[k] for k in rows[:, 2]] == [v.role for v in t.variables]
    assert list(found["starts"]) == [v.start for v in t.variables if v.settable]
    assert np.all(np.diff(found["bounds"].reshape(-1, 2)) >= 0)


def test_the_interface_holds_every_option_of_every_scheme() -> None:
    found = sections(packed(table(mbd.models.load("pendulum")), "", TOOL))
    schemes, names = found["schemes"].splitlines(), found["option.names"].splitlines()
    assert schemes == Scheme.names()
    choices = found["option.choices"].split("\n")[:-1]
    numbers, kinds = found["option.num"].reshape(-1, 3), found["options"].reshape(-1, 2)
    for k, scheme in enumerate(schemes):
        of_scheme = kinds[:, 0] == k
        assert list(numbers[of_scheme, 0]) == Scheme.named(scheme).from_options({}).native()
        assert names.count("max_iterations") == sum("max_iterations" in dir(Scheme.named(s)) for s in schemes)
    assert choices[names.index("form")] == "corrected|printed"


@pytest.mark.parametrize(
    ("model", "name", "kept"),
    [
        ("slider_crank", "crank.phi.start", ("q", 2, 1)),
        ("pendulum", "bar.omega.start", ("v", 2, 1)),
        ("pendulum3d", "link1.roll.start", ("q", 3, 3)),
        ("slider_crank_coordinates", "theta.der.start", ("v", 0, 1)),
        ("pendulum", "mass", None),
        ("slider_crank3d", "crank.x.start", None),  # its centre of mass lies elsewhere
    ],
)
def test_start_values_say_what_assembly_may_not_move(model: str, name: str, kept: tuple[str, int, int] | None) -> None:
    found = next(v for v in table(mbd.models.load(model)).variables if v.name == name).kept
    assert (found and (found.space, found.first, found.count)) == kept


# ---------------------------------------------------------------- the table


def by_name(t: Table) -> dict[str, Variable]:
    return {v.name: v for v in t.variables}


def test_settings_are_choices_where_they_choose() -> None:
    t = by_name(table(mbd.models.load("pendulum")))
    scheme = t["solver.scheme"]
    assert (scheme.type, scheme.role, scheme.choices and scheme.choices.items[int(scheme.start or 0) - 1][0]) == (
        "Enumeration", SETTING, "hht")  # fmt: skip
    assert (t["solver.options.max_iterations"].type, t["solver.options.form"].type) == ("Integer", "Enumeration")
    assert (t["solver.version"].type, t["solver.version"].variability) == ("String", "constant")


def test_value_references_do_not_move_when_locals_are_left_out() -> None:
    model = mbd.models.load("pendulum")
    whole, part = by_name(table(model)), by_name(table(model, signals=["bar.*"]))
    assert "hinge.reaction.x" not in part
    assert "bar.alpha" in part
    assert {v.name for v in whole.values() if v.role == PARAMETER} <= set(part)
    assert all(whole[name] == v for name, v in part.items())


def test_a_pattern_that_fits_nothing_is_told() -> None:
    with pytest.raises(mbd.ModelError, match="no signal fits 'bra"):
        table(mbd.models.load("pendulum"), signals=["bra.*"])


def test_models_with_events_count_them() -> None:
    assert "events.count" in by_name(table(mbd.models.load("bouncing_ball")))
    assert "events.count" not in by_name(table(mbd.models.load("pendulum")))
