"""A measured damper as a table, between two markers whose rate of distance it is read at; a stop as in ADAMS."""

import mbdfmu as mbd

SPEED = [-2.0, -0.5, -0.1, 0.0, 0.1, 0.5, 2.0]  # m/s, positive when it gets longer
FORCE = [-900.0, -330.0, -60.0, 0.0, 20.0, 80.0, 200.0]  # N, against the speed: harder when the lid closes
STOP = "impact(dm(rod, foot), vr(rod, foot), shortest, 4e5, 1.5, 2e3, 1e-3)"  # as ADAMS writes a bump stop


def lid(force: str) -> mbd.Model:
    """A lid of 8 kg that falls shut, held by what acts between its rod and the foot on the box."""
    model = mbd.Model("lid", gravity=[0, -9.81])
    model.add("open", mbd.Parameter(value="70*deg", unit="rad"))
    model.add("shortest", mbd.Parameter(value=0.3, unit="m"))
    model.add("lid", mbd.Body(mass=8, inertia=0.5, position=["0.4*cos(open)", "0.4*sin(open)"], angle="open"))
    model.add("hinge", mbd.joints.Revolute(i={"body": "ground"}, j={"body": "lid", "at": [-0.4, 0]}))
    model.add("rod", mbd.Marker(body="lid", at=[-0.15, 0]))
    model.add("foot", mbd.Marker(body="ground", at=[0.15, -0.25]))
    model.add("damper", mbd.Table(x=SPEED, y=FORCE, x_unit="m/s", y_unit="N", extrapolate="linear"))
    model.add("strut", mbd.forces.Translational(i="foot", j="rod", force=f"{force} + {STOP}"))
    return model


def main() -> None:
    for name, force in (("table", "-lookup(damper, vr(rod, foot))"), ("constant", "-400*vr(rod, foot)")):
        result = lid(force).simulate(2.0, 0.002, record=["lid.omega", "strut.force", "strut.length"])
        fastest, peak, left = result["lid.omega"].min(), result["strut.force"].max(), 1e3 * result["strut.length"][-1]
        print(f"{name:9} fastest {-fastest:.2f} rad/s, largest force {peak:.0f} N, comes to rest {left:.1f} mm long")


if __name__ == "__main__":
    main()
