"""One file per block; a block enters its family by being imported here."""

from mbdfmu.blocks.base import BlockElement, LinearBlock
from mbdfmu.blocks.delay import Delay
from mbdfmu.blocks.filter2 import Filter2
from mbdfmu.blocks.linear import Linear, companion
from mbdfmu.blocks.pid import Pid
from mbdfmu.blocks.state_space import StateSpace
from mbdfmu.blocks.transfer_function import TransferFunction

__all__ = [
    "BlockElement",
    "Delay",
    "Filter2",
    "Linear",
    "LinearBlock",
    "Pid",
    "StateSpace",
    "TransferFunction",
    "companion",
]
