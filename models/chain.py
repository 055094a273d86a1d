"""A planar chain of rods, for measuring how cost grows with size; must not know how it is solved."""

from mbdfmu import Body, Marker, Model, ModelError, Parameter
from mbdfmu.joints import Revolute


def build(N: int = 10) -> Model:
    """Planar chain of N uniform rods, hung by one end and released horizontally"""
    if N < 1:
        raise ModelError(f"chain: N must be at least 1, found {N}")
    model = Model("chain", text=f"Planar chain of {N} uniform rods, hung by one end and released horizontally",
                  gravity=[0, -9.81], experiment={"stop_time": 1, "step": 0.01, "tolerance": 1e-6})  # fmt: skip
    model.add("length", Parameter(value=1, unit="m", min=0.001, text="of each rod"))
    model.add("mass", Parameter(value=1, unit="kg", min=0.001, text="of each rod"))
    end = Marker(body="ground")
    for k in range(1, N + 1):
        rod = Body(mass="mass", inertia="mass*length^2/12", position=(f"{k - 0.5}*length", 0))
        model.add(f"rod{k}", rod)
        model.add(f"hinge{k}", Revolute(i=end, j=Marker(body=f"rod{k}", at=("-length/2", 0))))
        end = Marker(body=f"rod{k}", at=("length/2", 0))
    return model
