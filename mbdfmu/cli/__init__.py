"""The command line: finds the verb and turns errors into messages and exit codes; must not know what a verb does.

Exit codes: 0 success, 1 a negative finding (failed comparison, failed step) or a full disk, 2 wrong use or a bad model,
130 Ctrl-C, 143 SIGTERM.
"""

from __future__ import annotations

import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from mbdfmu import __version__
from mbdfmu.cli.endings import ended, heeding_termination, printed_whole
from mbdfmu.errors import did_you_mean

__all__ = ["main"]

# In the order in which a newcomer needs them; each is a file of mbdfmu/cli/verbs, imported when it is asked for.
VERBS = (
    "demo", "list", "check", "info", "simulate", "equilibrium", "linearize", "kinematics",
    "inverse-dynamics", "plot", "animate", "record", "compare", "import", "export-fmu",
    "export-modelica", "cosim", "reproduce", "schema",
)  # fmt: skip


class Verbs(click.Group):
    """The verbs, each loaded on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = cmd_name.replace("-", "_") + "_" * iskeyword(cmd_name)
        command: click.Command = import_module(f"mbdfmu.cli.verbs.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS:
            ctx.fail(f"no verb is called {args[0]!r}{did_you_mean(args[0], VERBS)}; known: {', '.join(VERBS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with ended():
            return super().invoke(ctx)

    def main(self, *args: Any, **keywords: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a letter of a model's text is no reason to fail
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        with heeding_termination(), printed_whole():
            return super().main(*args, **keywords)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Simulate constrained multibody systems and export them as FMUs.

    MODEL is a model file (JSON) or the name of a shipped model (see `mbdfmu list models`).
    """
