"""`mbdfmu schema`: the JSON schema of model files."""

from __future__ import annotations

import json

import click

from mbdfmu.cli.printing import example


@click.command(epilog=example("mbdfmu schema > mbdfmu-schema.json"))
def command() -> None:
    """Print the JSON schema of model files."""
    import mbdfmu.blocks
    import mbdfmu.forces
    import mbdfmu.joints  # noqa: F401  fills the families, so that the schema knows their members
    from mbdfmu.description import schema

    click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))
