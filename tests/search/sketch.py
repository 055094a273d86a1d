"""A model while it is drawn: what a file would say, where its bodies are, and what goes in from outside."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from reference.spatial_joints import Vector, matrix

import mbdfmu as mbd
from mbdfmu.description import Description
from search.drawing import Draw, numbers, turn_of

GROUND = "ground"
MECHANISM = ("bodies", "joints", "motions", "constraints", "coordinates", "mass", "inputs")
Points = tuple[list[float], list[float]]  # times and values; a time given twice is a jump


def built(data: dict[str, Any]) -> mbd.Model:
    return mbd.Model.from_description(Description(**copy.deepcopy(data)))


@dataclass(frozen=True)
class Sample:
    """A drawn model and the run that it is for."""

    seed: int
    data: dict[str, Any]
    inputs: dict[str, Points]
    end: float
    breaks: tuple[float, ...] = ()  # times at which a right side has a kink or jump

    @property
    def dimensions(self) -> int:
        return int(self.data.get("dimensions", 2))

    def model(self) -> mbd.Model:
        return built(self.data)

    def text(self) -> str:
        """For a report; `read` takes it."""
        return json.dumps({"seed": self.seed, "end": self.end, "inputs": self.inputs, "breaks": self.breaks,
                           "data": self.data})  # fmt: skip


def read(text: str) -> Sample:
    found = json.loads(text)
    inputs = {name: (times, values) for name, (times, values) in found["inputs"].items()}
    return Sample(found["seed"], found["data"], inputs, found["end"], tuple(found["breaks"]))


@dataclass
class Sketch:
    """A model that grows; elements have short names with the letter of their kind."""

    draw: Draw
    dimensions: int
    end: float
    data: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Points] = field(default_factory=dict)
    breaks: list[float] = field(default_factory=list)
    poses: dict[str, tuple[Vector, Vector]] = field(default_factory=dict)  # of bodies: place, and own axes -> ground
    parallel: bool = False  # all frames of joints have parallel axes z
    plain: bool = False  # only what the independent equations know
    _built: tuple[str, Any, Any] = ("", None, None)  # what it says, the mechanism, and its start

    def section(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.data.setdefault(name, {})
        return found

    def add(self, section: str, letter: str, element: dict[str, Any]) -> str:
        entries = self.section(section)
        name = f"{letter}{len(entries) + 1}"
        entries[name] = element
        return name

    @property
    def bodies(self) -> list[str]:
        return list(self.section("bodies"))

    def vector(self, values: Sequence[float] | Vector) -> list[float]:
        return numbers(values)[: self.dimensions]

    def pose(self, body: str) -> tuple[Vector, Vector]:
        return self.poses.get(body, (np.zeros(3), np.eye(3)))

    def marker(self, body: str, place: Vector, rotation: Vector) -> dict[str, Any]:
        """On a body, where a frame of the ground is now."""
        origin, axes = self.pose(body)
        turn = {} if np.array_equal(axes, rotation) else turn_of(axes.T @ rotation, self.dimensions)
        return {"body": body, "at": self.vector(axes.T @ (place - origin)), **turn}

    def model(self) -> mbd.Model:
        return built(self.data)

    def mechanism(self) -> mbd.Model:
        """Bodies and what holds them, without what moves them; the last one is kept, as building takes long."""
        data = {
            name: entries for name, entries in self.data.items() if name in MECHANISM or not isinstance(entries, dict)
        }
        data["coordinates"] = {name: {**entry, "force": 0.0} for name, entry in data.get("coordinates", {}).items()}
        key = json.dumps(data)
        if self._built[0] != key:
            self._built = key, built(data), None
        return self._built[1]

    def now(self) -> mbd.Simulation:
        """The mechanism at its start, moved onto its joints."""
        model = self.mechanism()
        if self._built[2] is None:
            self._built = self._built[0], model, model.start(assemble=True)
        return self._built[2]

    def settle(self) -> None:
        """Bodies are moved onto the joints and stay there: their start values are what assembly has found."""
        simulation = self.now()
        for body, entry in self.section("bodies").items():
            self._place(body, entry, simulation)
        for name, entry in self.section("coordinates").items():
            entry["start"], entry["velocity"] = simulation[name], simulation[f"der({name})"]
        self._built = json.dumps(None), self._built[1], None

    def _place(self, body: str, entry: dict[str, Any], now: mbd.Simulation) -> None:
        def values(*keys: str) -> list[float]:
            return [now[f"{body}.{key}"] for key in keys]

        if self.dimensions == 2:
            place, (phi,) = values("x", "y"), values("phi")
            axes = np.array([[np.cos(phi), -np.sin(phi), 0], [np.sin(phi), np.cos(phi), 0], [0, 0, 1]])
            entry |= {"position": place, "angle": phi, "velocity": values("vx", "vy"), "omega": now[f"{body}.omega"]}
            self.poses[body] = np.array([*place, 0.0]), axes
            return
        place, turn = values("x", "y", "z"), values("e0", "e1", "e2", "e3")
        entry |= {"position": place, "orientation": {"quaternion": turn}, "velocity": values("vx", "vy", "vz"),
                  "omega": values("omega_x", "omega_y", "omega_z")}  # fmt: skip
        self.poses[body] = np.array(place), np.asarray(matrix(np.array(turn)))

    def sample(self, seed: int) -> Sample:
        breaks = sorted({t for t in self.breaks if 0 < t < self.end})
        return Sample(seed, copy.deepcopy(self.data), copy.deepcopy(self.inputs), self.end, tuple(breaks))
