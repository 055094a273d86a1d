"""A spatial chain of rods on ball joints, for measuring how cost grows with size; must not know how it is solved."""

from mbdfmu import Body, Marker, Model, ModelError, Parameter
from mbdfmu.joints import Spherical


def build(N: int = 10) -> Model:
    """Spatial chain of N uniform rods on ball joints, released horizontally while it turns about the vertical"""
    if N < 1:
        raise ModelError(f"chain3d: N must be at least 1, found {N}")
    text = f"Spatial chain of {N} uniform rods on ball joints, released horizontally while it turns about the vertical"
    model = Model("chain3d", text=text, dimensions=3, gravity=[0, -9.81, 0],
                  experiment={"stop_time": 1, "step": 0.01, "tolerance": 1e-6})  # fmt: skip
    model.add("length", Parameter(value=1, unit="m", min=0.001, text="of each rod"))
    model.add("mass", Parameter(value=1, unit="kg", min=0.001, text="of each rod"))
    model.add("inertia", Parameter(value=0.01, unit="kg.m2", min=1e-9, text="of each rod about its own axis"))
    model.add("speed", Parameter(value=1, unit="rad/s", text="of the straight chain about the vertical at the start"))
    end = Marker(body="ground")
    for k in range(1, N + 1):
        model.add(f"rod{k}", _rod(f"{k - 0.5}*length"))
        model.add(f"ball{k}", Spherical(i=end, j=Marker(body=f"rod{k}", at=("-length/2", 0, 0))))
        end = Marker(body=f"rod{k}", at=("length/2", 0, 0))
    return model


def _rod(x: str) -> Body:
    across = "mass*length^2/12"
    shape = {"type": "rod", "from": ("-length/2", 0, 0), "to": ("length/2", 0, 0), "radius": "length/30"}
    return Body(mass="mass", inertia=("inertia", across, across), position=(x, 0, 0), omega=(0, "speed", 0),
                velocity=(0, 0, f"-speed*{x}"), shapes=(shape,))  # fmt: skip
