"""The child of isolated.py: runs one FMU as the request says; must not know what for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mbdfmu import fmi
from mbdfmu.errors import ModelError, StepFailed
from mbdfmu.regression.isolated import PROBLEMS, REQUEST, RESULT


def main(folder: Path) -> None:
    """Read the request in the folder and leave the result or the problems there."""
    request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    try:
        result = fmi.simulate(**request)
    except StepFailed as error:
        result = error.result
        if result is None:
            _refuse(folder, [str(error)])
            return
    except ModelError as error:
        _refuse(folder, error.problems)
        return
    result.write(folder / RESULT)


def _refuse(folder: Path, problems: list[str]) -> None:
    (folder / PROBLEMS).write_text(json.dumps(problems), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
