"""The measured chains in MuJoCo, built from the same descriptions, and one run of them; must not know how we solve.

MuJoCo knows a chain by its joint angles, so nothing can open and few numbers are left; bodies hang in one another. Its
contacts and constraints are switched off.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np
from cases import Ours, Run, Vector, spatial_coordinates

import mbdfmu as mbd
from mbdfmu.expressions import Node, evaluate

# Too long a step diverges, which the error tells; a log file in the working folder is not wanted.
mujoco.set_mju_user_warning(lambda message: None)
INTEGRATORS = {  # and their orders
    "implicitfast": (mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 1),
    "RK4": (mujoco.mjtIntegrator.mjINT_RK4, 4),
}


class Peer:
    """A shipped chain in MuJoCo."""

    def __init__(self, model: str) -> None:
        described = mbd.models.load(model).symbolic
        self.values = {s.node: s.start for s in described.signals.values() if s.causality in ("parameter", "input")}
        self.spatial = described.dimensions == 3
        self.start = Ours(model).simulation().save()
        self.model = self._compiled(described)
        self.data = mujoco.MjData(self.model)

    def _numbers(self, nodes: Iterable[Node]) -> list[float]:
        return [float(x) for x in evaluate(list(nodes), self.values)]

    def _compiled(self, described: Any) -> Any:
        spec = mujoco.MjSpec()
        gravity = self._numbers(described.gravity)
        spec.option.gravity = [*gravity, 0.0][:3]
        flags = mujoco.mjtDisableBit
        spec.option.disableflags = flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT
        spec.memory = 2 << 30
        body, outer = spec.worldbody, [0.0, 0.0, 0.0]  # the place of the next joint in the body before it
        for rigid, constraint in zip(described.bodies, described.constraints, strict=True):
            m, *J = self._numbers((rigid.mass, *rigid.inertia))
            before, inner = self._arms(constraint)
            inertia = J[:3] if self.spatial else [J[0]] * 3
            place = [a - b for a, b in zip(before, outer, strict=True)]
            centre = [-x for x in inner]  # of mass, from the joint
            body = body.add_body(pos=place, mass=m, inertia=inertia, ipos=centre, explicitinertial=True)
            kinds = mujoco.mjtJoint
            if self.spatial:
                body.add_joint(type=kinds.mjJNT_BALL)
            else:
                body.add_joint(type=kinds.mjJNT_HINGE, axis=[0, 0, 1])
            outer = inner
        return spec.compile()

    def _arms(self, constraint: Any) -> tuple[list[float], list[float]]:
        """Of the joint from the centres of mass before and behind it."""
        (kernel,) = (p.kernel for p in constraint.primitives)
        numbers = self._numbers(kernel.constants)
        half = len(numbers) // 2
        before, inner = numbers[:half], numbers[half:]
        return [*before, 0.0][:3], [*inner, 0.0][:3]

    def run(self, t_end: float, step: float, integrator: str) -> Run:
        """One simulation without output."""
        self.model.opt.integrator, self.model.opt.timestep = INTEGRATORS[integrator][0], step
        mujoco.mj_resetData(self.model, self.data)
        self._set_speeds()
        mujoco.mj_forward(self.model, self.data)
        steps = round(t_end / step)
        begin = time.process_time()
        mujoco.mj_step(self.model, self.data, steps)
        cpu = time.process_time() - begin
        mujoco.mj_forward(self.model, self.data)
        return Run(cpu=cpu, statistics={"steps": steps}, q=self._q())

    def _set_speeds(self) -> None:
        """The straight chain turns as one body, so only its first joint moves."""
        width = 3 if self.spatial else 1
        self.data.qvel[:width] = self.start.v[3:6] if self.spatial else self.start.v[2:3]

    def _q(self) -> Vector:
        """In our coordinates."""
        centres = np.array(self.data.xipos[1:])
        quaternions = np.array(self.data.xquat[1:])
        if self.spatial:
            return spatial_coordinates(centres, quaternions)
        angles = np.cumsum(self.data.qpos)
        return np.stack([centres[:, 0], centres[:, 1], angles], axis=1).ravel()
