"""The JSON schema of model files, with all registered members of families; must not know any of them by name."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from mbdfmu.description.description import Description, Submodel
from mbdfmu.description.parts import Block, Element, Force, Joint, Shape, Typed

FAMILIES: tuple[type[Typed], ...] = (Joint, Force, Block, Shape)


def schema() -> dict[str, Any]:
    """JSON schema (2020-12) of a model file."""
    models: list[type[Element]] = [Description, Submodel, *FAMILIES]
    models += [member for family in FAMILIES for member in family.members().values()]
    references, document = models_json_schema([(model, "validation") for model in models])
    names = {model: references[model, "validation"]["$ref"].rpartition("/")[2] for model in models}
    definitions = document["$defs"]
    for family in FAMILIES:
        members = family.members()
        for type_name, member in members.items():
            _require_type(definitions[names[member]], type_name)
        choices = [{"$ref": f"#/$defs/{names[member]}"} for member in members.values()]
        nothing: dict[str, Any] = {"not": {}}
        definitions[names[family]] = {"title": family.__name__, "oneOf": choices} if choices else nothing
    definitions[names[Submodel]]["properties"]["model"] = {"$ref": "#"}
    top = definitions.pop(names[Description])
    for section in top["properties"].values():
        if "patternProperties" in section:
            section["additionalProperties"] = False  # a key that is no name
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": definitions}


def _require_type(definition: dict[str, Any], type_name: str) -> None:
    definition["properties"] = {"type": {"const": type_name}, **definition["properties"]}
    definition["required"] = ["type", *definition.get("required", [])]
