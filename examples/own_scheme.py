"""A scheme of one's own in pure Python: classical Runge-Kutta on the index-1 equations, projected onto the joints.

`model.compile()` gives the equations in arrays; what is done with them is up to the script. The order comes out as
four, and the built-in scheme arrives at the same state.
"""

import numpy as np

import mbdfmu as mbd

T_END = 1.0  # s
Vector = np.ndarray


class ProjectedRungeKutta:
    """Fourth order in a fixed step: accelerations from [M G^T; G 0] [a; lam] = [Q; gamma], joints closed afterwards."""

    def __init__(self, model: mbd.Model) -> None:
        self.system = model.compile()
        self.q, self.v, self.a, self.lam = self.system.start()
        self.t = 0.0

    def matrix(self, t: float, q: Vector, v: Vector) -> Vector:
        """[M G^T; G 0]."""
        s = self.system
        return s.jacobian(t, q, v, np.zeros(s.nv), np.zeros(s.nc)).toarray()

    def accelerations(self, t: float, q: Vector, v: Vector) -> Vector:
        s = self.system
        forces = s.residual(t, q, v, np.zeros(s.nv), np.zeros(s.nc))[: s.nv]  # what is left of the residual is -Q
        _, gamma = s.rates(t, q, v)
        return np.linalg.solve(self.matrix(t, q, v), np.concatenate([-forces, gamma]))[: s.nv]

    def step(self, h: float) -> None:
        t, q, v = self.t, self.q, self.v
        k1 = self.accelerations(t, q, v)
        k2 = self.accelerations(t + h / 2, q + h / 2 * v, v + h / 2 * k1)
        k3 = self.accelerations(t + h / 2, q + h / 2 * v + h * h / 4 * k1, v + h / 2 * k2)
        k4 = self.accelerations(t + h, q + h * v + h * h / 2 * k2, v + h * k3)
        self.t, self.q, self.v = t + h, q + h * v + h * h / 6 * (k1 + k2 + k3), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        self.project()

    def project(self) -> None:
        """The smallest change in the metric of M that closes positions (Newton), then velocities (linear)."""
        s = self.system
        for _ in range(10):
            phi = s.constraints(self.t, self.q)
            if np.max(np.abs(phi), initial=0.0) < 1e-12:
                break
            self.q = self.q + self.correction(-phi)
        speed, _ = s.rates(self.t, self.q, self.v)
        self.v = self.v + self.correction(-speed)

    def correction(self, rows: Vector) -> Vector:
        right = np.concatenate([np.zeros(self.system.nv), rows])
        return np.linalg.solve(self.matrix(self.t, self.q, self.v), right)[: self.system.nv]


def run(model: mbd.Model, steps: int) -> ProjectedRungeKutta:
    scheme = ProjectedRungeKutta(model)
    for _ in range(steps):
        scheme.step(T_END / steps)
    return scheme


def main() -> None:
    model = mbd.models.load("double_pendulum")
    finest = run(model, 320)
    built_in = model.start(tolerance=1e-10)
    built_in.advance(T_END)
    phi = finest.system.labels.index("body 'bar2' phi")
    print(f"bar2.phi: own scheme {finest.q[phi]:.8f}, built-in {built_in['bar2.phi']:.8f} rad")
    before = None
    for steps in (20, 40, 80):
        found = run(model, steps)
        error = np.max(np.abs(found.q - finest.q))
        order = "" if before is None else f", order {np.log2(before / error):.2f}"
        gap = np.max(np.abs(found.system.constraints(T_END, found.q)))
        print(f"{steps:4} steps: error {error:.1e}{order}, joints open by {gap:.0e} m")
        before = error


if __name__ == "__main__":
    main()
