"""A mechanism that an event locks altogether stays where it is, in every scheme."""

from typing import Any

import pytest

import mbdfmu as mbd
from mbdfmu.description import Description
from mbdfmu.schemes import Scheme

LOCKED = 0.7632016  # s


def end(body: str, at: list[float], quaternion: list[float]) -> dict[str, Any]:
    return {"body": body, "at": at, "orientation": {"quaternion": quaternion}}


def locking() -> mbd.Model:
    """A slider falls along an oblique rail and carries a ball along that does not turn against it, until a lock holds
    both; three rows of it hold the one freedom that is left."""
    bodies = {
        "ball": {
            "mass": 0.78,
            "inertia": [0.455, 0.631, 0.441, -0.0215, 0.291, 0.0401],
            "position": [0.398, -0.302, 0.254],
            "orientation": {"quaternion": [0.844, 0.405, 0.203, -0.289]},
        },
        "slider": {
            "mass": 1.33,
            "inertia": [0.798, 0.6, 0.559, -0.0685, -0.0327, -0.0704],
            "position": [-0.0195, 0.228, 0.508],
            "orientation": {"quaternion": [0.885, -0.296, 0.179, 0.311]},
        },
    }
    joints = {
        "socket": {
            "type": "spherical",
            "i": {"body": "ground", "at": [0.0875, -0.399, 0.305]},
            "j": {"body": "ball", "at": [-0.232, -0.223, 0.074]},
        },
        "rail": {
            "type": "prismatic",
            "i": end("ground", [0.205, 0.193, 0.0147], [0.945, -0.0319, 0.0332, -0.323]),
            "j": end("slider", [0.4, 0.0348, -0.355], [0.752, 0.32, -0.0344, -0.576]),
            "axis": [0.314, -0.619, -0.72],
        },
        "pair": {
            "type": "orientation",
            "i": end("slider", [0.0973, -0.311, -0.0939], [0.216, 0.923, 0.12, -0.296]),
            "j": end("ball", [-0.369, 0.208, -0.115], [0.903, 0.325, 0.213, -0.184]),
        },
    }
    events = {"hold": {"when": f"time >= {LOCKED}", "lock": ["pair"]}}
    data: dict[str, Any] = {"format_version": 1, "name": "locking", "dimensions": 3, "gravity": [0, -9.81, 0]}
    return mbd.Model.from_description(Description(**data, bodies=bodies, joints=joints, events=events))


@pytest.mark.parametrize("scheme", list(Scheme.members()))
def test_what_is_locked_altogether_stays(scheme: str) -> None:
    """Speeds are rounding then, 1e-17 m/s, which the partitioning of coordinates gets no smaller."""
    found = locking().simulate(1.2, 0.1, scheme=scheme, tolerance=1e-8, assemble=True)
    path = found["slider.x"][found.time > LOCKED + 0.05]
    assert abs(path - path[0]).max() < 1e-7
    assert abs(path[0] - found["slider.x"][0]) > 0.1
