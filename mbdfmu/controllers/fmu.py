"""What the script of an FMU with a controller loads in the host's Python; must not know what the controller does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mbdfmu.controllers.slave import CONTROLLER, Content
from mbdfmu.controllers.slave import Slave as Neutral
from mbdfmu.fmi.python_slave import Slave as Adapter
from mbdfmu.fmi.python_slave import content_of, hold

__all__ = ["Slave", "hold"]


class Slave(Adapter):
    """A controller as an FMI 2.0 co-simulation slave."""

    @staticmethod
    def made(resources: Path) -> Any:
        """The running controller that the resources describe."""
        content = Content.unpacked(content_of(resources / CONTROLLER))
        content_of(resources / content.source)  # said by its name where it is missing
        return Neutral(content.controller(resources), content)
