"""A joint, a force and a scheme from outside: one Python file each, nothing of the package touched or compiled."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import mbdfmu as mbd
import mbdfmu.forces
import mbdfmu.joints
from mbdfmu.description import Force, Joint

JOINT = '''
from mbdfmu.frames import Primitive, Recipe, Row
from mbdfmu.joints import Freedoms, JointElement
from mbdfmu.planar import relative_angle

class Circle(JointElement, name="circle"):
    """Pin on a circle: the origin of j keeps the distance 1 m from i, written as a square."""

    freedoms = Freedoms(planar=2)

    def planar(self, i, j, resolve):
        dx, dy = j.x - i.x, j.y - i.y
        row = Row(direction="radius", value=0.5 * (dx * dx + dy * dy - 1), unit="m", reaction="pull")
        return Recipe(primitives=(Primitive(rows=(row,)),), free={"angle": relative_angle(i, j)})
'''
FORCE = '''
from mbdfmu.forces import ScalarForce
from mbdfmu.frames import Law, distance

class Hardening(ScalarForce, name="hardening"):
    """Cubic spring: force -c (l - 1)^3."""

    stiffness: float = 1.0  # N/m3

    def measure(self, i, j, resolve):
        return distance(i, j)

    def law(self, measure, i, j, resolve):
        stretch, c = measure.value - 1, resolve(self.stiffness)
        return Law(spring=-c * stretch**3, actuator=0 * stretch, energy=0.25 * c * stretch**4)
'''


def loaded(folder: Path, name: str, text: str) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def families() -> Iterator[None]:
    before = [(family, dict(family._table)) for family in (Joint, Force)]
    yield
    for family, table in before:
        family._table.clear()
        family._table.update(table)


def test_joint_and_force_from_a_folder(families: None, tmp_path: Path) -> None:
    loaded(tmp_path, "my_joint", JOINT)
    loaded(tmp_path, "my_force", FORCE)
    file = tmp_path / "model.json"
    file.write_text(
        """{"format_version": 1, "name": "own", "gravity": [0, -9.81],
        "bodies": {"ball": {"mass": 1, "inertia": 1, "position": [1, 0]}},
        "joints": {"rail": {"type": "circle", "i": {"body": "ground"}, "j": {"body": "ball"}}},
        "forces": {"rubber": {"type": "hardening", "i": {"body": "ground", "at": [0, -3]}, "j": {"body": "ball"},
                              "stiffness": 2}}}"""
    )
    result = mbd.Model.load(file).simulate(1.0, 0.1, tolerance=1e-9)
    x, y, speed = result["ball.x"], result["ball.y"], np.hypot(result["ball.vx"], result["ball.vy"])
    np.testing.assert_allclose(np.hypot(x, y), 1, atol=1e-9)
    energy = 0.5 * speed**2 + 9.81 * y + result["rubber.energy"]
    np.testing.assert_allclose(energy, energy[0], atol=1e-4)
    assert "rail.angle" in result
    assert result.unit("rail.reaction.pull") == "N"


def midpoint_with_projection(system, h: float, steps: int) -> np.ndarray:
    """A scheme in pure Python: midpoint rule on the index-1 equations, positions and velocities pulled back."""
    q, v, a, lam = system.start()
    nv, t = system.nv, 0.0

    def accelerations(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        zero = np.zeros(nv), np.zeros(system.nc)
        matrix = system.jacobian(t, q, v, *zero).tocsc()
        right = np.r_[-system.residual(t, q, v, *zero)[:nv], system.rates(t, q, v)[1]]
        return spsolve(matrix, right)[:nv]

    def pulled_back(t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        for _ in range(3):
            matrix = system.jacobian(t, q, v, a, lam).tocsc()
            q = q + spsolve(matrix, np.r_[np.zeros(nv), -system.constraints(t, q)])[:nv]
        return q, v + spsolve(matrix, np.r_[np.zeros(nv), -system.rates(t, q, v)[0]])[:nv]

    for _ in range(steps):
        half_q, half_v = q + h / 2 * v, v + h / 2 * accelerations(t, q, v)
        q, v = q + h * half_v, v + h * accelerations(t + h / 2, half_q, half_v)
        t += h
        q, v = pulled_back(t, q, v)
    return q


def test_scheme_in_python_has_its_order() -> None:
    model = mbd.models.load("slider_crank")
    exact = model.start(tolerance=1e-10)
    exact.advance(0.2)
    system = model.compile()
    crank = system.labels.index("body 'crank' phi")
    coarse, fine = (
        abs(midpoint_with_projection(system, h, round(0.2 / h))[crank] - exact["crank.phi"]) for h in (2e-3, 1e-3)
    )
    assert fine < 1e-4
    assert np.log2(coarse / fine) == pytest.approx(2, abs=0.2)


def test_equations_can_be_asked_before_the_start_and_check_their_arguments() -> None:
    model = mbd.models.load("pendulum")  # with an input
    system, zero = model.compile(), np.zeros(3)
    np.testing.assert_allclose(system.residual(0, zero, zero, zero, np.zeros(2))[:3], [0, 9.81, 0])
    for call in (lambda: system.constraints(0, [1.0]), lambda: system.rates(0, zero, [1.0])):
        with pytest.raises(mbd.ModelError, match="has 1 components, the model has 3"):
            call()
