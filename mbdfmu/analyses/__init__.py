"""What can be asked of a compiled model; must not know files of results or FMUs."""

from mbdfmu.analyses.compiled import CompiledModel
from mbdfmu.analyses.equilibrium import METHODS, Equilibrium
from mbdfmu.analyses.inputs import InputSchedule
from mbdfmu.analyses.inverse_dynamics import InverseDynamics
from mbdfmu.analyses.kinematics import Kinematics
from mbdfmu.analyses.linear_model import LinearModel, Mode
from mbdfmu.analyses.linearising import wanted
from mbdfmu.analyses.settings import Settings
from mbdfmu.analyses.simulate import simulate
from mbdfmu.analyses.stepping import Simulation

__all__ = [
    "METHODS",
    "CompiledModel",
    "Equilibrium",
    "InputSchedule",
    "InverseDynamics",
    "Kinematics",
    "LinearModel",
    "Mode",
    "Settings",
    "Simulation",
    "simulate",
    "wanted",
]
