"""Where in its files a flat model has what a finding is about; must not know any formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbdfmu.description.values import File

if TYPE_CHECKING:
    from mbdfmu.description.description import Description


def placed(description: Description, problem: str) -> str:
    """`joints.front.hinge.axis: ..` as a finding about the file of the sub-model `front`; others as they are."""
    section, _, place = problem.partition(".")
    part = next((name for name in description.submodels if place.startswith(f"{name}.")), None)
    if part is None or not section.isidentifier():
        return problem
    submodel, inner = description.submodels[part], place.removeprefix(f"{part}.")
    if section == "parameters" and inner.partition(".value: ")[0] in submodel.parameters:  # given from outside
        return f"submodels.{part}.parameters.{inner.replace('.value: ', ': ', 1)}"
    where = f"file: {submodel.file.path}" if isinstance(submodel.file, File) else "model"
    return f"submodels.{part}.{where}: {placed(submodel.content, f'{section}.{inner}')}"
