"""Events in model exchange: what occurs belongs to the motion, whatever integrator finds it and whatever it leaves open
in the joints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import importers
import numpy as np
import pytest
from test_events import GROUND, model

import mbdfmu as mbd

END = 3.0  # s
Importer = Callable[[Path, list[str]], list[float]]
IMPORTERS: dict[str, Importer] = {
    "CVode": lambda path, names: importers.cvode(path, END, 1e-7, names),
    "rk4": lambda path, names: importers.rk4(path, END, 5e-3, names),
    "dop853": lambda path, names: importers.dop853(path, END, 1e-8, names),
}


def arm(rng: np.random.Generator) -> dict[str, Any]:
    """One to three bars in a row that hang from the ground on hinges with damping, in the plane or in space."""
    space, count = bool(rng.integers(2)), int(rng.integers(1, 4))
    sections: dict[str, Any] = {"bodies": {}, "joints": {}, "forces": {}}
    down, along, before = 0.0, [0.0, 0.0, 0.0][: 3 if space else 2], GROUND
    for k in range(1, count + 1):
        name, length, mass = f"b{k}", rng.uniform(0.4, 0.9), rng.uniform(0.5, 2)
        inertia = mass * length**2 / 12
        place, top, bottom = ([*along[:-1], y] for y in (down - length / 2, length / 2, -length / 2))
        sections["bodies"][name] = {
            "mass": mass, "inertia": [inertia, inertia, inertia / 20] if space else inertia, "position": place,
        }  # fmt: skip
        end = {"body": name, "at": top}
        turn = {"axis": [1.0, *rng.uniform(-0.4, 0.4, 2)]} if space else {}
        sections["joints"][f"h{k}"] = {"type": "revolute", "i": before, "j": end, **turn}
        brake = {"torque": f"-{rng.uniform(0.2, 0.5)}*h{k}.angle_rate"} if k > 1 else {}
        if brake:
            sections["forces"][f"brake{k}"] = {"type": "rotational", "i": before, "j": end, **turn, **brake}
        down, before = down - length, {"body": name, "at": bottom}
    sections["gravity"] = [*along[:-1], -9.81]
    drive = {"axis": sections["joints"]["h1"]["axis"]} if space else {}
    sections["forces"]["drive"] = {"type": "rotational", "i": GROUND, "j": sections["joints"]["h1"]["j"], **drive}
    sections["states"] = {"n": {"rate": 0}, "side": {"rate": 0, "start": 1}}
    return sections


# ---------------------------------------------------------------- what recurs


def turned_round(rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """A torque that turns round each time the arm swings beyond an angle."""
    at = rng.uniform(0.02, 0.1)
    return {
        "torque": f"{scale}*side - {0.01 * scale}*h1.angle_rate",
        "events": {"out": {"when": f"h1.angle > {at}", "set": {"side": "-side", "n": "n + 1"}}},
    }


def counted(rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """Events that only count, on a place and on a speed."""
    return {
        "torque": f"{2 * scale}*sin({rng.uniform(3, 6)}*time) - {0.1 * scale}*h1.angle_rate",
        "events": {
            "past": {"when": f"h1.angle > {rng.uniform(-0.1, 0.1)}", "set": {"n": "n + 1"}},
            "fast": {"when": f"h1.angle_rate < {rng.uniform(-0.4, -0.2)}", "set": {"n": "n + 1"}},
        },
    }


def rubbed(rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """Dry friction whose direction an event sets wherever the arm turns back."""
    return {
        "torque": f"{2 * scale}*sin({rng.uniform(3, 6)}*time) - {0.2 * scale}*side",
        "events": {
            "forth": {"when": "h1.angle_rate > 0.02 and time > 0.1", "set": {"side": 1, "n": "n + 1"}},
            "back": {"when": "h1.angle_rate < -0.02 and time > 0.1", "set": {"side": -1, "n": "n + 1"}},
        },
    }


def struck(rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """A wall that the arm is thrown against."""
    gap = f"{rng.uniform(0.1, 0.3)} - h1.angle"
    return {
        "torque": f"{2 * scale}*sin({rng.uniform(3, 6)}*time) - {0.1 * scale}*h1.angle_rate",
        "impacts": {"wall": {"gap": gap, "restitution": rng.uniform(0.5, 0.9)}},
        "events": {"thrown": {"when": "h1.angle_rate < -0.1", "set": {"n": "n + 1"}}},
    }


def rested(rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """A rest that the arm is laid on and pulled off again."""
    gap = f"h1.angle + {rng.uniform(0.05, 0.1)}"
    return {
        "torque": f"{2 * scale}*sin({rng.uniform(2, 3)}*time) - {0.1 * scale}*h1.angle_rate",
        "impacts": {"rest": {"gap": gap, "restitution": 0, "rest_speed": 1e-3}},
        "events": {"past": {"when": "h1.angle > 0.1", "set": {"n": "n + 1"}}},
    }


def stopped(rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """Soft stops whose begin and end are located."""
    return {
        "torque": f"{2 * scale}*sin({rng.uniform(3, 6)}*time) - {0.1 * scale}*h1.angle_rate",
        "stop": {"type": "bump_stop", "lower": -0.05, "upper": 0.05, "stiffness": rng.uniform(50, 200), "locate": True},
        "events": {"hard": {"when": f"h1.angle_rate > {rng.uniform(0.1, 0.2)}", "set": {"n": "n + 1"}}},
    }


RECURRING = [turned_round, counted, rubbed, struck, rested, stopped]


def drawn(seed: int) -> mbd.Model:
    rng = np.random.default_rng(seed)
    sections = arm(rng)
    recurring = RECURRING[seed % len(RECURRING)]
    scale = 9.81 * sum(b["mass"] for b in sections["bodies"].values()) * 0.2
    more = recurring(rng, scale)
    sections["forces"]["drive"]["torque"] = more.pop("torque")
    if stop := more.pop("stop", None):
        tip = sections["joints"]["h2"]["i"] if "h2" in sections["joints"] else {"body": "b1"}
        across = [0, 1, 0] if len(sections["gravity"]) == 3 else [1, 0]
        sections["forces"]["stop"] = {**stop, "axis": across, "i": GROUND, "j": tip}
    return model(dimensions=len(sections["gravity"]), **sections, **more)


def bar(**more: Any) -> mbd.Model:
    """On a hinge, hanging."""
    bodies = {
        "c": {
            "mass": 1,
            "inertia": 0.1,
            "position": [0, -0.5],
            "omega": (w := more.pop("omega", 0)),
            "velocity": [0.5 * w, 0],
        }
    }
    hinge = {"type": "revolute", "i": GROUND, "j": {"body": "c", "at": [0, 0.5]}}
    return model(bodies=bodies, joints={"h": hinge}, **more)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
def test_closing_the_joints_does_not_turn_a_torque_round(tolerance: float, tmp_path: Path) -> None:
    """CVode leaves 65 times its tolerance."""
    plant = bar(
        gravity=[0, -9.81],
        states={"push": {"rate": 0, "start": 1}},
        forces={"drive": {"type": "rotational", "i": GROUND, "j": {"body": "c"}, "torque": "push"}},
        events={"turn": {"when": "c.x > 0.05", "set": {"push": "-push"}}},
    )
    path = plant.export_fmu(tmp_path / "x.fmu", interface="me2")
    best = plant.simulate(6.0, 6.0, scheme="dop853", tolerance=1e-11)
    assert len(best.events) == 4
    assert importers.cvode(path, 6.0, tolerance, ["c.x", "push"]) == pytest.approx(
        [best["c.x"][-1], 1], abs=100 * tolerance
    )


@pytest.mark.parametrize("importer", [importers.cvode, importers.dop853])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_a_turn_is_counted_once(importer: Callable[..., list[float]], tolerance: float, tmp_path: Path) -> None:
    plant = bar(omega=7.0, states={"n": {"rate": 0}}, events={"past": {"when": "c.x > 0.05", "set": {"n": "n + 1"}}})
    path = plant.export_fmu(tmp_path / "x.fmu", interface="me2")
    assert importer(path, 12.0, tolerance, ["n"]) == [14]  # 84 rad, and the first one just after the start


@pytest.mark.by_day(1)
@pytest.mark.parametrize("importer", IMPORTERS)
def test_what_recurs_occurs_as_often_as_in_simulate(importer: str, counts: Callable[..., int], tmp_path: Path) -> None:
    """What has occurred is counted exactly; places are off by 1e-4 where bounces pile up, else by 4e-6."""
    for seed in range(counts(30, 0.1)):
        plant = drawn(seed)
        path = plant.export_fmu(tmp_path / f"{seed}.fmu", interface="me2")
        best = plant.simulate(END, END, scheme="dop853", tolerance=1e-11)
        names = ["n", "side", *(name for name in best.names() if name.startswith("b") and name[2:] in (".x", ".y"))]
        found = IMPORTERS[importer](path, names)
        expected = [best[name][-1] for name in names]
        assert found == pytest.approx(expected, abs=2e-4), seed
