"""A ball is thrown onto a table: it bounces, slides and begins to roll; where the contacts are hit in time.

The ball comes without spin. Friction brakes it at every bounce and spins it up until it rolls; it then keeps five
sevenths of its speed, whatever the friction and the bounces were. The restitution of the contact is the one given,
nearly; it holds at the speed given, and a ball that is slower loses less.
"""

import numpy as np

import mbdfmu as mbd

RADIUS, MASS, SPEED, HEIGHT = 0.05, 0.2, 2.0, 0.3  # m, kg, m/s, m
IMPACT = np.sqrt(2 * 9.81 * HEIGHT)  # m/s, of the first bounce
GROUND, BALL = {"body": "ground"}, {"body": "ball"}


def thrown() -> mbd.Model:
    """In the plane, with the moment of inertia of a ball."""
    model = mbd.Model("ball", gravity=(0, -9.81))
    place = (0, HEIGHT + RADIUS)
    model.add("ball", mbd.Body(mass=MASS, inertia=0.4 * MASS * RADIUS**2, position=place, velocity=(SPEED, 0)))
    contact = mbd.forces.SpherePlane(
        i=GROUND,
        j=BALL,
        radius=RADIUS,
        stiffness=1e6,
        restitution=0.6,
        impact_speed=IMPACT,
        coefficient=0.15,
        locate=True,
    )
    model.add("table", contact)
    return model


def main() -> None:
    result = thrown().simulate(t_end=4.0, step_output=0.01, tolerance=1e-7)
    touches = [time for time, _ in result.events]
    for first, last in list(zip(touches[::2], touches[1::2], strict=False))[:4]:
        print(f"contact from {first:.5f} s, for {1e3 * (last - first):.2f} ms")
    resting = result.time > 3.0
    print(f"rolls with {result['ball.vx'][-1]:.4f} m/s, five sevenths are {5 / 7 * SPEED:.4f} m/s")
    print(f"slips with {np.abs(result['table.slip'][resting]).max():.0e} m/s then")


if __name__ == "__main__":
    main()
