"""`mbdfmu list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from mbdfmu.cli.printing import columns, counted, example, number
from mbdfmu.cli.values import word

if TYPE_CHECKING:
    from mbdfmu.description import Element


def _models() -> Iterator[str]:
    from mbdfmu import content

    yield columns((name, content.summary(name)) for name in content.names())


def _joints() -> Iterator[str]:
    from mbdfmu.joints import JointElement

    for name, joint in JointElement.members().items():
        yield f"  {name}: {joint.summary()} ({_freedoms(joint)})"
        yield columns(_entries(joint), indent=6)


def _freedoms(joint: Any) -> str:
    planar, spatial = joint.freedoms
    if planar == spatial:
        return "one equation" if planar is None else counted(planar, "freedom")
    kinds = (("planar", planar), ("spatial", spatial))
    return ", ".join(f"{kind}: {counted(n, 'freedom')}" for kind, n in kinds if n is not None)


def _forces() -> Iterator[str]:
    from mbdfmu.forces import ForceElement

    for name, force in ForceElement.members().items():
        yield f"  {name}: {force.summary()}"
        yield columns(_entries(force), indent=6)


_EVERYWHERE = ("i", "j", "start", "text")  # of joints and forces


def _entries(element: type[Element], besides: tuple[str, ...] = _EVERYWHERE) -> Iterator[tuple[str, str]]:
    """What a file may say about an element besides that, with unit and default."""
    units = element.units()
    for name, info in element.model_fields.items():
        if name not in besides:
            default = "required" if info.is_required() else f"default {_shown(info.default)}"
            yield f"{name} [{units[name] or '1'}]" if name in units else name, default


def _blocks() -> Iterator[str]:
    from mbdfmu.blocks import BlockElement

    for name, block in BlockElement.members().items():
        yield f"  {name}: {block.summary()}"
        yield columns(_entries(block, ("text", "unit", "nominal")), indent=6)


def _controllers() -> Iterator[str]:
    from mbdfmu import controllers

    for name, kind in controllers.members().items():
        yield f"  {name}: {kind.summary()}"
        yield columns(_parameters(kind), indent=6)


def _parameters(kind: Any) -> Iterator[tuple[str, str, str]]:
    from mbdfmu.controllers import SAMPLING

    for f in sorted(fields(kind), key=lambda f: f.name in SAMPLING):  # of all controllers: last
        unit = f.metadata["unit"]
        yield f"{f.name} [{unit}]" if unit else f.name, f"default {_shown(f.default)}", f.metadata["text"]


def _schemes() -> Iterator[str]:
    from mbdfmu.schemes import Scheme

    for name, scheme in Scheme.members().items():
        yield f"  {name}: {scheme.summary()}"
        yield columns(((f"{f.name}={_shown(f.default)}", f.metadata["text"]) for f in fields(scheme)), indent=6)


def _shown(default: object) -> str:
    if isinstance(default, tuple):
        return f"[{', '.join(map(_shown, default))}]"
    return number(default) if isinstance(default, float) else str("none" if default is None else default)


def _functions() -> Iterator[str]:
    from mbdfmu.expressions import FUNCTIONS, MARKER_FUNCTIONS

    yield columns((f.call, f.text) for f in FUNCTIONS.values())
    yield "  tables: lookup(table,x)"
    yield "  markers and bodies (all but the first may be left out: the ground):"
    yield columns(((f.call, f"{f.unit}: {f.text}") for f in MARKER_FUNCTIONS.values()), indent=4)
    yield "  constants: pi, deg (30*deg is 30 degrees in rad)"


def _platforms() -> Iterator[str]:
    from mbdfmu.fmi.binaries import CURE, PLATFORMS, available, needs

    built = available()
    yield columns((name, needs(name, built[name].read_bytes())) for name in built)
    if missing := [name for name in PLATFORMS if name not in built]:
        yield f"  not built: {', '.join(missing)}; {CURE}"


KINDS: dict[str, Callable[[], Iterator[str]]] = {
    "models": _models, "joints": _joints, "forces": _forces, "blocks": _blocks,
    "controllers": _controllers, "schemes": _schemes, "functions": _functions, "platforms": _platforms,
}  # fmt: skip


@click.command(epilog=example("mbdfmu list", "mbdfmu list models", "mbdfmu list schemes"))
@click.argument("kind", type=word(*KINDS), required=False, metavar=f"[{'|'.join(KINDS)}]")
def command(kind: str | None) -> None:
    """List models, elements, controllers, schemes, functions."""
    for name in [kind] if kind else KINDS:
        click.echo(f"{name}")
        for text in KINDS[name]():
            if text:
                click.echo(text)
