"""The measured models in Exudyn, built from the same descriptions, and one run of them; must not know how we solve.

Bodies, hinges, sliders, springs and constant torques are enough for all of them; what cannot be said is refused.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from cases import Ours, Run

import mbdfmu as mbd
from mbdfmu.expressions import Node, evaluate
from mbdfmu.signals import SymbolicModel

sys.exudynFast = True  # type: ignore[attr-defined]  # Exudyn reads it at import: its module without range checks
import exudyn as exu  # noqa: E402
from exudyn.utilities import (  # noqa: E402
    LoadMassProportional,
    LoadTorqueVector,
    MarkerBodyMass,
    MarkerBodyPosition,
    MarkerBodyRigid,
    NodeRigidBody2D,
    ObjectConnectorSpringDamper,
    ObjectGround,
    ObjectJointPrismatic2D,
    ObjectJointRevolute2D,
    ObjectRigidBody2D,
)

NAME = f"Exudyn {exu.__version__}"
GROUND = "ground"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How the peer solves: defaults where nothing is said."""

    name: str
    dense: bool = False
    jacobian_each_step: bool = False  # instead of when the iteration slows down
    relative: float = 1e-8  # Newton's tolerances; Exudyn's defaults
    absolute: float = 1e-10

    @property
    def converged(self) -> bool:
        """Whether the iteration is carried on until the error no longer depends on it."""
        return self.relative <= 1e-6


SETTINGS = (
    Setting(name="default, sparse"),
    Setting(name="default, dense", dense=True),
    Setting(name="new matrix each step, 1e-6, sparse", jacobian_each_step=True, relative=1e-6),
    Setting(name="new matrix each step, 1e-4, sparse", jacobian_each_step=True, relative=1e-4),
    Setting(name="new matrix each step, 1e-6, dense", dense=True, jacobian_each_step=True, relative=1e-6),
    Setting(name="new matrix each step, 1e-4, dense", dense=True, jacobian_each_step=True, relative=1e-4),
)
DENSE_LIMIT = 10  # bodies; beyond, the dense ones take minutes


class Peer:
    """A shipped model in Exudyn."""

    def __init__(self, model: str) -> None:
        described = mbd.models.load(model)
        self.start = Ours(model).simulation().save()
        self.container = exu.SystemContainer()  # kept: the system dies with it
        self.system = self.container.AddSystem()
        _Builder(self.system, described.symbolic).build(self.start.q, self.start.v)
        self.bodies = len(self.start.q) // 3

    def settings(self) -> Iterator[Setting]:
        """Those that make sense at this size."""
        return (s for s in SETTINGS if self.bodies <= DENSE_LIMIT or not s.dense)

    def run(self, t_end: float, step: float, setting: Setting) -> Run | None:
        """One simulation without output; None where it fails."""
        options = _simulation_settings(t_end, step, setting)
        begin = time.process_time()
        try:
            done = self.system.SolveDynamic(options, showHints=False, showCausingItems=False)
        except (RuntimeError, ValueError):  # what Exudyn raises where Newton gives up
            return None
        cpu = time.process_time() - begin
        if not done:
            return None
        counts = self.system.sys["dynamicSolver"].it
        statistics = {
            "steps": counts.currentStepIndex - 1,
            "iterations": counts.newtonStepsCount,
            "factorisations": counts.newtonJacobiCount,
        }
        # The total coordinates are summed here: GetODE2CoordinatesTotal() of 1.13.6 corrupts the heap on large systems.
        moved = np.array(self.system.systemData.GetODE2Coordinates())
        return Run(cpu=cpu, statistics=statistics, q=self.start.q + moved)


def _simulation_settings(t_end: float, step: float, setting: Setting) -> Any:
    """No output, one thread, generalized alpha with its default spectral radius of 0.9."""
    s = exu.SimulationSettings()
    s.solution.file.write = s.solution.sensors.active = s.solution.restart.write = False
    s.timeIntegration.numberOfSteps = round(t_end / step)
    s.timeIntegration.endTime = t_end
    s.timeIntegration.verboseMode = 0
    newton = s.timeIntegration.newton
    newton.useModifiedNewton = True
    newton.modifiedNewtonJacUpdatePerStep = setting.jacobian_each_step
    newton.relativeTolerance, newton.absoluteTolerance = setting.relative, setting.absolute
    kinds = exu.LinearSolverType
    s.linearSolver.solverType = kinds.EXUdense if setting.dense else kinds.EigenSparse
    s.linearSolver.reuseAnalyzedPattern = not setting.dense
    s.parallel.numberOfThreads = 1
    return s


class _Builder:
    """Adds one resolved model to an Exudyn system."""

    def __init__(self, system: Any, model: SymbolicModel) -> None:
        self.system, self.model = system, model
        self.values = {s.node: s.start for s in model.signals.values() if s.causality in ("parameter", "input")}
        self.objects = {GROUND: system.AddObject(ObjectGround())}

    def numbers(self, nodes: Iterable[Node]) -> list[float]:
        return [float(x) for x in evaluate(list(nodes), self.values)]

    def build(self, q: Any, v: Any) -> None:
        gravity = [*self.numbers(self.model.gravity), 0]
        for k, (name, mass, inertia) in enumerate(self.model.masses):
            m, J = self.numbers((mass, inertia))
            own = slice(3 * k, 3 * k + 3)
            node = self.system.AddNode(NodeRigidBody2D(referenceCoordinates=q[own], initialVelocities=v[own]))
            body = self.system.AddObject(ObjectRigidBody2D(nodeNumber=node, physicsMass=m, physicsInertia=J))
            self.objects[name] = body
            marker = self.system.AddMarker(MarkerBodyMass(bodyNumber=body))
            self.system.AddLoad(LoadMassProportional(markerNumber=marker, loadVector=gravity))
        for constraint in self.model.constraints:
            self.add_joint(constraint)
        for force in self.model.forces:
            self.add_force(force)
        self.system.Assemble()

    def marker(self, kind: Any, body: str, x: float = 0, y: float = 0) -> int:
        return int(self.system.AddMarker(kind(bodyNumber=self.objects[body], localPosition=[x, y, 0])))

    def markers(self, kind: Any, ends: Iterable[str], at: Iterable[Iterable[float]]) -> list[int]:
        return [self.marker(kind, body, *point) for body, point in zip(ends, at, strict=True)]

    def add_joint(self, constraint: Any) -> None:
        kernels = {p.kernel.table: self.numbers(p.kernel.constants) for p in constraint.primitives}
        match kernels:
            case {"coincid": (xi, yi, xj, yj)} if len(kernels) == 1:
                markers = self.markers(MarkerBodyPosition, constraint.ends, ((xi, yi), (xj, yj)))
                self.system.AddObject(ObjectJointRevolute2D(markerNumbers=markers))
            case {"angle": (0.0,), "inline": (xi, yi, xj, yj, nx, ny)}:
                markers = self.markers(MarkerBodyRigid, constraint.ends, ((xi, yi), (xj, yj)))
                axes = {"axisMarker0": [ny, -nx, 0], "normalMarker1": [nx, ny, 0]}
                self.system.AddObject(ObjectJointPrismatic2D(markerNumbers=markers, **axes))
            case _:
                raise NotImplementedError(f"{constraint.label}: no Exudyn joint for {', '.join(kernels)}")

    def add_force(self, force: Any) -> None:
        kernel, ends = force.load.kernel, [frame.body for frame in force.ends]
        match kernel.table, self.numbers(kernel.constants):
            case "transl", (xi, yi, xj, yj, stiffness, damping, free):
                markers = self.markers(MarkerBodyPosition, ends, ((xi, yi), (xj, yj)))
                law = {"stiffness": stiffness, "damping": damping, "referenceLength": free}
                self.system.AddObject(ObjectConnectorSpringDamper(markerNumbers=markers, **law))
            case "rotat", (0.0, 0.0, _):
                self.add_torque(ends, *self.numbers([force.load.actuator]))
            case _:
                raise NotImplementedError(f"force '{force.name}': no Exudyn element for it")

    def add_torque(self, ends: list[str], torque: float) -> None:
        for body, sign in zip(ends, (-1, 1), strict=True):
            if body != GROUND and torque:
                marker = self.marker(MarkerBodyRigid, body)
                self.system.AddLoad(LoadTorqueVector(markerNumber=marker, loadVector=[0, 0, sign * torque]))
