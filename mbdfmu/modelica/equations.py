"""A model as equations that need no library; must not know joints or forces by name, nor how text is put together.

The order is that of reading: what can be chosen, what comes and goes, coordinates and states, then the equations of one
element after the other.
"""

from __future__ import annotations

from mbdfmu.errors import ModelError
from mbdfmu.modelica.balances import Balances, rotation_matrix
from mbdfmu.modelica.freedoms import freedoms
from mbdfmu.modelica.laws import Laws, refused
from mbdfmu.modelica.sheet import plain
from mbdfmu.modelica.subject import Subject
from mbdfmu.signals import Coordinate, SymbolicModel


def written(subject: Subject) -> str:
    """The text; ModelError with all elements that equations cannot say."""
    model = subject.model
    if problems := list(refused(model)):
        raise ModelError(problems)
    start = subject.start
    laws = Laws(subject, plain, freedoms=freedoms(model, start, frozenset(start.redundant)))
    laws.given()
    balances = Balances(model, frozenset(subject.start.redundant))
    _orientations(laws, balances)
    for c, place, speed in zip(model.coordinates, model.position_starts, model.velocity_starts, strict=True):
        laws.coordinate(c, place, speed, _element(model, c))
    laws.states()
    for w in model.windings:
        laws.winding(w)
    for held in balances.held:
        laws.held(held)
    for repeating in balances.left_out:
        laws.left_out(*repeating)
    laws.wishes()
    for multiplier in balances.silent:
        laws.sheet.known[multiplier] = "0"
    for force in model.forces:  # what forces do stands before the balances that share it
        section = laws.sheet.section(f"force '{force.name}'", force.name)
        for effort in force.load.efforts:
            section.say(effort.effort)
    laws.unknowns()
    for balance in balances.balances():
        c = balance.coordinate
        section = laws.sheet.section(f"motion of {_element(model, c)}", c.node)
        section.say(balance.inertia, " = ", balance.force)
    laws.events()
    laws.outputs()
    return laws.text(notes=[f"Left out: {text}." for text in subject.start.redundant.values()])


def _orientations(laws: Laws, balances: Balances) -> None:
    """Quaternions, and the rotation matrices that follow from them."""
    model, sheet = laws.m, laws.sheet
    for k, turning in enumerate(balances.turnings()):
        heading = f"orientation of body '{turning.body}'"
        section = laws.quaternion(turning, model.orientation_starts[4 * k : 4 * k + 4], heading)
        matrix = sheet.names.new(f"{turning.body}.R")
        sheet.put(heading, matrix, (f'Real {matrix}[3, 3] "takes vectors from body axes to ground axes"',))
        for n, (symbol, entry) in enumerate(rotation_matrix(model, turning.body).items()):
            sheet.known[symbol] = f"{matrix}[{n // 3 + 1}, {n % 3 + 1}]"
            section.say(f"{sheet.known[symbol]} = ", entry)


def _element(model: SymbolicModel, c: Coordinate) -> str:
    return f"body '{c.node}'" if c.node in model.description.bodies else c.label
