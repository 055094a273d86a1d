"""N four-bar linkages in a row (IFToMM benchmark A02), singular when level; must not know how it is solved."""

from mbdfmu import Body, Marker, Model, ModelError, Parameter
from mbdfmu.joints import Revolute


def build(N: int = 2) -> Model:
    """N four-bar linkages in a row, started upright (IFToMM A02)"""
    if N < 1:
        raise ModelError(f"four_bar: N must be at least 1, found {N}")
    model = Model("four_bar", text=f"{N} four-bar linkages in a row, started upright (IFToMM A02)", gravity=[0, -9.81],
                  experiment={"stop_time": 10, "step": 0.01, "tolerance": 1e-6})  # fmt: skip
    model.add("length", Parameter(value=1, unit="m", min=0.001, text="of each rod"))
    model.add("mass", Parameter(value=1, unit="kg", min=0.001, text="of each rod"))
    model.add("speed", Parameter(value=1, unit="m/s", text="start speed of the upper joints, along x"))
    for k in range(N + 1):
        upright = {"angle": "pi/2", "velocity": ("speed/2", 0), "omega": "-speed/length"}
        model.add(f"crank{k}", _rod(f"{k}*length", "length/2", **upright))
        model.add(f"base{k}", Revolute(i=Marker(body="ground", at=(f"{k}*length", 0)), j=_end(f"crank{k}", "-")))
    for k in range(N):
        model.add(f"coupler{k}", _rod(f"{k + 0.5}*length", "length", velocity=("speed", 0)))
        model.add(f"left{k}", Revolute(i=_end(f"crank{k}"), j=_end(f"coupler{k}", "-")))
        model.add(f"right{k}", Revolute(i=_end(f"coupler{k}"), j=_end(f"crank{k + 1}")))
    return model


def _rod(x: str, y: str, **start: object) -> Body:
    return Body(mass="mass", inertia="mass*length^2/12", position=(x, y), **start)


def _end(body: str, sign: str = "") -> Marker:
    return Marker(body=body, at=(f"{sign}length/2", 0))
