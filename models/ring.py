"""A hanging ring of segments on bushings, for measuring the cost of forces; must not know how it is solved."""

from mbdfmu import Body, Marker, Model, ModelError, Parameter
from mbdfmu.forces import Bushing

PARAMETERS = {
    "radius": Parameter(value=0.25, unit="m", min=0.001, text="of the ring"),
    "width": Parameter(value=0.01, unit="m", min=0, text="across the bushings of two neighbours"),
    "density": Parameter(value=0.2, unit="kg/m", min=1e-6, text="mass per length"),
    "tension": Parameter(value=2e5, unit="N/m", min=0, text="stiffness between neighbours along the ring"),
    "shear": Parameter(value=1e5, unit="N/m", min=0, text="stiffness between neighbours across the ring"),
    "bending": Parameter(value=0.5, unit="N.m/rad", min=0, text="stiffness between neighbours against turning"),
    "relaxation": Parameter(value=1e-3, unit="s", min=0, text="damping over stiffness, of all of them"),
}


def build(N: int = 20, cords: int = 1) -> Model:
    """Planar ring of N segments, held at its top, with that many bushings between neighbours"""
    if N < 3:
        raise ModelError(f"ring: N must be at least 3, found {N}")
    if cords < 1:
        raise ModelError(f"ring: cords must be at least 1, found {cords}")
    text = f"Planar ring of {N} segments, held at its top, {cords} bushings between neighbours"
    model = Model("ring", text=text, gravity=[0, -9.81], experiment={"stop_time": 1, "step": 0.01, "tolerance": 1e-6})
    for name, parameter in PARAMETERS.items():
        model.add(name, parameter)
    for k in range(N):
        model.add(f"segment{k + 1}", _segment(k, N))
    for k in range(N):
        for cord in range(cords):
            model.add(f"bushing{k + 1}_{cord + 1}", _bushing(k, N, f"({2 * cord + 1}/{2 * cords} - 1/2)*width", cords))
    top = N // 2
    law = {"stiffness": ("tension", "shear"), "damping": ("relaxation*tension", "relaxation*shear")}
    hook = Marker(body="ground", at=_place(top, N))
    model.add("hanger", Bushing(i=hook, j=Marker(body=f"segment{top + 1}"), **law))
    return model


def _angle(k: int, N: int) -> str:
    return f"{2 * k + 1}*pi/{N}"


def _place(k: int, N: int) -> tuple[str, str]:
    return f"radius*sin({_angle(k, N)})", f"-radius*cos({_angle(k, N)})"


def _segment(k: int, N: int) -> Body:
    length = f"2*radius*tan(pi/{N})"
    return Body(mass=f"density*{length}", inertia=f"density*({length})^3/12", position=_place(k, N), angle=_angle(k, N))


def _bushing(k: int, N: int, height: str, cords: int) -> Bushing:
    """One of those between a segment and the next, where both meet; the first is a full turn behind the last."""
    last = k == N - 1
    turn, reach = f"2*pi/{N}", f"(radius - {height})*tan(pi/{N})"
    return Bushing(
        i=Marker(body=f"segment{k + 1}", at=(reach, height)),
        j=Marker(body=f"segment{1 if last else k + 2}", at=(f"-{reach}", height)),
        stiffness=(f"tension/{cords}", f"shear/{cords}"),
        damping=(f"relaxation*tension/{cords}", f"relaxation*shear/{cords}"),
        torsional_stiffness=f"bending/{cords}",
        torsional_damping=f"relaxation*bending/{cords}",
        free_rotation=f"{turn} - 2*pi" if last else turn,
    )
