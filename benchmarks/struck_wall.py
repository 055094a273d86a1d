"""A double pendulum whose tip strikes a wall: the measured model with contact; must not know who simulates it."""

from __future__ import annotations

from mbdfmu import Body, Marker, Model
from mbdfmu.forces import PointPlane
from mbdfmu.joints import Revolute

GRAVITY, LENGTH, MASS = 9.81, 1.0, 1.0  # m/s^2, m, kg; two uniform rods, released horizontally
INERTIA = MASS * LENGTH**2 / 12
PLACE = 0.2  # m, of the wall, which is left of it; three strikes in 2 s
# Hunt and Crossley's force k d^e (1 + chi d'), of a depth that stays below 3 mm; with exponent 2 its slope is steady,
# so that all methods converge.
STIFFNESS, EXPONENT, DISSIPATION = 1e9, 2.0, 0.1  # N/m^2, 1, s/m


def build() -> Model:
    """Two rods on hinges, and the wall."""
    model, half = Model("struck_wall", gravity=[0, -GRAVITY]), LENGTH / 2
    before = Marker(body="ground")
    for n in (1, 2):
        rod = f"rod{n}"
        model.add(rod, Body(mass=MASS, inertia=INERTIA, position=((2 * n - 1) * half, 0)))
        model.add(f"hinge{n}", Revolute(i=before, j=Marker(body=rod, at=(-half, 0))))
        before = Marker(body=rod, at=(half, 0))
    law = {"stiffness": STIFFNESS, "exponent": EXPONENT, "dissipation": DISSIPATION}
    model.add("wall", PointPlane(i=Marker(body="ground", at=(PLACE, 0)), j=before, axis=(1, 0), **law))
    return model
