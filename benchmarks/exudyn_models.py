"""The measured models in Exudyn, built from the same descriptions, and one run of them; must not know how we solve.

Planar bodies, hinges, sliders, springs, bushings and constant torques, and spatial bodies on ball joints are enough
for all of them; what cannot be said is refused. A bushing of Exudyn acts on both of its points, ours on that of j:
where the points part, the models differ, and each is held against its own converged state.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cases import Ours, Run, described, spatial_coordinates

import mbdfmu as mbd
from mbdfmu.expressions import Node, evaluate
from mbdfmu.forces import SphereSphere
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
    ObjectConnectorRigidBodySpringDamper,
    ObjectConnectorSpringDamper,
    ObjectConnectorTorsionalSpringDamper,
    ObjectGround,
    ObjectJointPrismatic2D,
    ObjectJointRevolute2D,
    ObjectJointSpherical,
    ObjectRigidBody2D,
    RigidBodyInertia,
    RotationMatrix2EulerParameters,
)

exu.config.printToConsole = False  # a run that fails says so by its result
NAME = f"Exudyn {exu.__version__}"
GROUND = "ground"
BOTH_POINTS = ", forces at both points"  # of references.py


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How the peer solves: defaults where nothing is said."""

    name: str
    dense: bool = False
    jacobian_each_step: bool = False  # instead of when the iteration slows down
    relative: float = 1e-8  # Newton's tolerances; Exudyn's defaults
    absolute: float = 1e-10
    spectral_radius: float = 0.9  # of generalized alpha at high frequencies
    rotations: str = ""  # of spatial bodies: Euler parameters or the rotation vector of a Lie group

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
SPATIAL = {"Euler parameters": "RotationEulerParameters", "Lie group": "RotationRotationVector"}
SPATIAL_SETTINGS = tuple(
    replace(setting, name=f"{rotations}, {setting.name}", rotations=rotations)
    for rotations in SPATIAL
    for setting in SETTINGS
)
DENSE_LIMIT = 10  # bodies; beyond, the dense ones take minutes


class Peer:
    """A model in Exudyn."""

    def __init__(self, model: str | mbd.Model) -> None:
        self.described = described(model)
        self.start = Ours(model).simulation().save()
        self.spatial = self.described.description.dimensions == 3
        self.bodies = len(self.described.symbolic.bodies)
        self.container = exu.SystemContainer()  # kept: the systems die with it
        self.systems: dict[str, _Builder] = {}

    def settings(self) -> Iterator[Setting]:
        """Those that make sense at this size."""
        known = SPATIAL_SETTINGS if self.spatial else SETTINGS
        return (s for s in known if self.bodies <= DENSE_LIMIT or not s.dense)

    def built(self, rotations: str) -> _Builder:
        """The system with one kind of rotations."""
        if rotations not in self.systems:
            builder = _Builder(self.container.AddSystem(), self.described.symbolic, rotations)
            builder.build(self.start.q, self.start.v)
            self.systems[rotations] = builder
        return self.systems[rotations]

    def run(self, t_end: float, step: float, setting: Setting) -> Run | None:
        """One simulation without output; None where it fails."""
        builder = self.built(setting.rotations)
        options = _simulation_settings(t_end, step, setting)
        begin = time.process_time()
        try:
            done = builder.system.SolveDynamic(options, showHints=False, showCausingItems=False)
        except (RuntimeError, ValueError):  # what Exudyn raises where Newton gives up
            return None
        cpu = time.process_time() - begin
        if not done:
            return None
        counts = builder.system.sys["dynamicSolver"].it
        statistics = {
            "steps": counts.currentStepIndex - 1,
            "iterations": counts.newtonStepsCount,
            "factorisations": counts.newtonJacobiCount,
        }
        return Run(cpu=cpu, statistics=statistics, law=builder.law, **builder.state(self.start.q))


def _simulation_settings(t_end: float, step: float, setting: Setting) -> Any:
    """No output, one thread, generalized alpha."""
    s = exu.SimulationSettings()
    s.solution.file.write = s.solution.sensors.active = s.solution.restart.write = False
    s.timeIntegration.numberOfSteps = round(t_end / step)
    s.timeIntegration.endTime = t_end
    s.timeIntegration.verboseMode = 0
    s.timeIntegration.generalizedAlpha.spectralRadius = setting.spectral_radius
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

    def __init__(self, system: Any, model: SymbolicModel, rotations: str) -> None:
        self.system, self.model, self.rotations = system, model, rotations
        self.values = {s.node: s.start for s in model.signals.values() if s.causality in ("parameter", "input")}
        self.objects = {GROUND: system.AddObject(ObjectGround())}
        self.law = ""
        self.contacts: Any = None
        self.round: set[str] = set()  # bodies with a disc

    def numbers(self, nodes: Iterable[Node]) -> list[float]:
        return [float(x) for x in evaluate(list(nodes), self.values)]

    def build(self, q: Any, v: Any) -> None:
        for k, body in enumerate(self.model.bodies):
            add = self.add_spatial_body if self.rotations else self.add_body
            self.objects[body.name] = add(k, q, v, self.numbers((body.mass, *body.inertia)))
        for constraint in self.model.constraints:
            self.add_joint(constraint)
        for force in self.model.forces:
            self.add_force(force)
        self.system.Assemble()

    def add_body(self, k: int, q: Any, v: Any, masses: list[float]) -> int:
        own, (m, J) = slice(3 * k, 3 * k + 3), masses
        node = self.system.AddNode(NodeRigidBody2D(referenceCoordinates=q[own], initialVelocities=v[own]))
        body = int(self.system.AddObject(ObjectRigidBody2D(nodeNumber=node, physicsMass=m, physicsInertia=J)))
        marker = self.system.AddMarker(MarkerBodyMass(bodyNumber=body))
        gravity = [*self.numbers(self.model.gravity), 0]
        self.system.AddLoad(LoadMassProportional(markerNumber=marker, loadVector=gravity))
        return body

    def add_spatial_body(self, k: int, q: Any, v: Any, masses: list[float]) -> int:
        """Of those whose axes are parallel to the ground's at the start."""
        own, e = slice(6 * k, 6 * k + 3), q[6 * len(self.model.bodies) + 4 * k :][:4]
        m, xx, yy, zz, *_ = masses
        if abs(e[0]) < 1:
            raise NotImplementedError(f"body {k} is turned at the start")
        added = self.system.CreateRigidBody(
            inertia=RigidBodyInertia(mass=m, inertiaTensor=np.diag([xx, yy, zz])),
            nodeType=getattr(exu.NodeType, SPATIAL[self.rotations]),
            referencePosition=q[own],
            initialVelocity=v[own],
            initialAngularVelocity=v[6 * k + 3 : 6 * k + 6],
            gravity=self.numbers(self.model.gravity),
            returnDict=True,
        )
        return int(added["bodyNumber"])

    def state(self, start: Any) -> dict[str, Any]:
        """Where the bodies are, in our coordinates, and their rates in the plane."""
        if not self.rotations:
            # Summed here: GetODE2CoordinatesTotal() of Exudyn 1.13.6 corrupts the heap on large systems.
            data = self.system.systemData
            return {"q": start + np.array(data.GetODE2Coordinates()), "v": np.array(data.GetODE2Coordinates_t())}
        kinds, bodies = exu.OutputVariableType, [self.objects[body.name] for body in self.model.bodies]
        place, turned = (
            np.array([self.system.GetObjectOutputBody(body, kind, [0, 0, 0]) for body in bodies])
            for kind in (kinds.Position, kinds.RotationMatrix)
        )
        quaternions = np.array([RotationMatrix2EulerParameters(R.reshape(3, 3)) for R in turned])
        return {"q": spatial_coordinates(place, quaternions)}

    def marker(self, kind: Any, body: str, x: float = 0, y: float = 0, z: float = 0) -> int:
        return int(self.system.AddMarker(kind(bodyNumber=self.objects[body], localPosition=[x, y, z])))

    def markers(self, kind: Any, ends: Iterable[str], at: Iterable[Iterable[float]]) -> list[int]:
        return [self.marker(kind, body, *point) for body, point in zip(ends, at, strict=True)]

    def add_joint(self, constraint: Any) -> None:
        kernels = {p.kernel.table: self.numbers(p.kernel.constants) for p in constraint.primitives}
        match kernels:
            case {"coinci3": (xi, yi, zi, xj, yj, zj)} if len(kernels) == 1:
                markers = self.markers(MarkerBodyPosition, constraint.ends, ((xi, yi, zi), (xj, yj, zj)))
                self.system.AddObject(ObjectJointSpherical(markerNumbers=markers))
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
        if isinstance(element := self.model.description.forces[force.name], SphereSphere):
            return self.add_contact(element)
        ends, (spring, *added) = [frame.body for frame in force.ends], force.load.shares
        if spring.kernel is None:
            raise NotImplementedError(f"force '{force.name}': no Exudyn element for expressions")
        actuators = self.numbers(effort.effort for share in added for effort in share.efforts)
        match spring.kernel.table, self.numbers(spring.kernel.constants):
            case "transl", (xi, yi, xj, yj, stiffness, damping, free) if not any(actuators):
                markers = self.markers(MarkerBodyPosition, ends, ((xi, yi), (xj, yj)))
                law = {"stiffness": stiffness, "damping": damping, "referenceLength": free}
                self.system.AddObject(ObjectConnectorSpringDamper(markerNumbers=markers, **law))
            case "rotat", (0.0, 0.0, _):
                self.add_torque(ends, *actuators)
            case "rotat", (stiffness, damping, free) if not any(actuators):
                markers = self.markers(MarkerBodyRigid, ends, ((0, 0), (0, 0)))
                # it knows angles by their rotation matrices
                law = {"stiffness": stiffness, "damping": damping, "offset": math.remainder(free, 2 * math.pi)}
                self.system.AddObject(ObjectConnectorTorsionalSpringDamper(markerNumbers=markers, **law))
            case "bushing", (xi, yi, xj, yj, 1.0, 0.0, *law) if not any(actuators):
                self.add_bushing(self.markers(MarkerBodyRigid, ends, ((xi, yi), (xj, yj))), law)
            case _:
                raise NotImplementedError(f"force '{force.name}': no Exudyn element for it")

    def add_bushing(self, markers: list[int], law: list[float]) -> None:
        kx, ky, stiffness, cx, cy, damping, x, y, angle = law
        turn = math.remainder(angle, 2 * math.pi)  # it knows angles by their rotation matrices
        numbers = {"stiffness": np.diag([kx, ky, 0, 0, 0, stiffness]), "damping": np.diag([cx, cy, 0, 0, 0, damping])}
        offset = [x, y, 0, 0, 0, turn]
        self.system.AddObject(ObjectConnectorRigidBodySpringDamper(markerNumbers=markers, offset=offset, **numbers))
        self.law = BOTH_POINTS

    def add_contact(self, contact: SphereSphere) -> None:
        """Of two discs on centres of mass; those of all contacts are alike."""
        if self.contacts is None:
            self.contacts = self.system.AddGeneralContact()
            self.contacts.sphereSphereFrictionRecycle = False
            self.contacts.frictionProportionalZone = contact.creep_speed
            self.contacts.SetFrictionPairings(contact.coefficient * np.array([[0.0, 1.0], [1.0, 0.0]]))
            self.contacts.SetSearchTreeCellSize(numberOfCells=[16, 8, 1])
        law = {"contactStiffness": contact.stiffness, "contactDamping": contact.damping}
        for material, end, radius in ((0, contact.i, contact.radius_i), (1, contact.j, contact.radius_j)):
            if end.body not in self.round:
                marker = self.marker(MarkerBodyRigid, end.body)
                self.contacts.AddSphereWithMarker(marker, radius=radius, frictionMaterialIndex=material, **law)
                self.round.add(end.body)

    def add_torque(self, ends: list[str], torque: float) -> None:
        for body, sign in zip(ends, (-1, 1), strict=True):
            if body != GROUND and torque:
                marker = self.marker(MarkerBodyRigid, body)
                self.system.AddLoad(LoadTorqueVector(markerNumber=marker, loadVector=[0, 0, sign * torque]))
