"""A steel cantilever in a row of beam elements: bent by a load at its tip, then released, against the closed forms."""

from math import pi, sqrt

import mbdfmu as mbd

LENGTH, WIDTH, HEIGHT, DENSITY, LOAD = 1.0, 0.02, 0.04, 7850.0, 500.0  # m, m, m, kg/m3, N
E, G, SHEAR = 210e9, 81e9, 5 / 6  # Pa, Pa, part of the section that carries shear
AREA, MOMENT = WIDTH * HEIGHT, WIDTH * HEIGHT**3 / 12
RELEASE = 0.01  # s


def cantilever(count: int) -> mbd.Model:
    """Bodies at the ends of elements, each with half the mass of its neighbours; the load goes at the release."""
    part = LENGTH / count
    model = mbd.Model("cantilever", length=LENGTH)
    end = {"body": "ground"}
    for k in range(1, count + 1):
        mass = DENSITY * AREA * part * (0.5 if k == count else 1.0)
        model.add(f"node{k}", mbd.Body(mass=mass, inertia=mass * part**2 / 12, position=(k * part, 0)))
        beam = mbd.forces.Beam(
            i=end,
            j={"body": f"node{k}"},
            length=part,
            elastic_modulus=E,
            shear_modulus=G,
            area=AREA,
            second_moment=MOMENT,
            shear_factor=SHEAR,
        )
        model.add(f"beam{k}", beam)
        end = {"body": f"node{k}"}
    load = f"if(time < {RELEASE}, -{LOAD}, 0)"
    model.add("load", mbd.forces.VectorForce(i={"body": "ground"}, j=end, force=(0, load)))
    return model


def main() -> None:
    bending, shear = LOAD * LENGTH**3 / (3 * E * MOMENT), LOAD * LENGTH / (SHEAR * G * AREA)
    print(f"tip under {LOAD:g} N: {1e3 * bending:.3f} mm by bending, {1e3 * shear:.3f} mm by shear")
    slender = 1.8751041**2 * sqrt(E * MOMENT / (DENSITY * AREA * LENGTH**4)) / (2 * pi)
    for count in (2, 4, 8):
        result = cantilever(count).simulate(0.3, 2e-4, start="equilibrium", tolerance=1e-6)
        tip, time = result[f"node{count}.y"], result.time
        after = [t for t, a, b in zip(time[1:], tip, tip[1:], strict=False) if a < 0 <= b and t > RELEASE]
        frequency = (len(after) - 1) / (after[-1] - after[0])
        print(f"{count} elements: {-1e3 * tip[0]:.3f} mm, then {frequency:.2f} Hz; a slender beam has {slender:.2f} Hz")


if __name__ == "__main__":
    main()
