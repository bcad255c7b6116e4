"""``aipm plugins new|check|trace|install``: for whoever writes plugins, and whoever takes them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aipm_cli.api import AsJson, Config, check_local, load_settings, say, show, table

if TYPE_CHECKING:
    from aipm_devkit.api import Check, Scaffold

    from aipm_cli.installing import Installed
    from aipm_cli.tracing import Step


class Kind(StrEnum):
    """What a new plugin starts with."""

    tool = "tool"
    view = "view"
    adapter = "adapter"
    provider = "provider"
    webhook = "webhook"


def add_commands(app: typer.Typer) -> None:
    """Put them below ``aipm plugins``."""
    for command in (new, check, trace, install):
        app.command()(command)


def new(
    name: Annotated[str, typer.Argument(help="a-z, 0-9, '-' and '_'.")],
    directory: Annotated[Path, typer.Option("--dir", help="Where to put aipm-NAME.")] = Path(),
    kind: Annotated[Kind, typer.Option("--kind", help="What it starts with.")] = Kind.tool,
    as_json: AsJson = False,
) -> None:
    """Write a working third-party plugin with its test."""
    from aipm_devkit.api import write_plugin

    check_local(strict=False)

    made = write_plugin(name, directory, kind.value)
    data = {"name": made.name, "directory": str(made.directory.resolve()), "files": made.files}
    show(data, as_json=as_json, human=lambda: _tell_new(made))


def check(
    target: Annotated[str, typer.Argument(help="A plugin's directory, or an installed name.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Run the conformance checks on a plugin; its code is executed in a process of its own."""
    from dataclasses import asdict

    from aipm_devkit.api import examine

    check_local(strict=False)

    if config is not None:
        load_settings(config)  # a wrong one is told here too, as by every command
    checks = examine(target)
    show([asdict(item) for item in checks], as_json=as_json, human=lambda: _tell_checks(checks))
    raise typer.Exit(0 if all(item.ok for item in checks) else 1)


def trace(
    tool: Annotated[str | None, typer.Argument(help="A tool to call as well.")] = None,
    arguments: Annotated[str, typer.Option("--arguments", help="Its arguments, as JSON.")] = "{}",
    plugin: Annotated[str | None, typer.Option("--plugin", help="Only what is this one's.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Start the plugins, and tell which code of whom ran and for how long."""
    from dataclasses import asdict

    from aipm_cli.tracing import trace as traced

    given = _object(arguments)
    steps = traced(load_settings(config), tool, given)
    chosen = [step for step in steps if plugin in (None, step.plugin)]
    show([asdict(step) for step in chosen], as_json=as_json, human=lambda: _tell_steps(chosen))


def install(
    requirement: Annotated[str, typer.Argument(help="A distribution, a directory or a wheel.")],
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Take a newer one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Install a plugin where this program runs; it stays off until the settings name it."""
    from dataclasses import asdict

    from aipm_cli.installing import install as installed

    check_local(strict=False)

    made = installed(requirement, upgrade=upgrade)
    show(asdict(made), as_json=as_json, human=lambda: _tell_installed(made))


def _object(text: str) -> dict[str, Any]:
    import json

    from aipm_core import CallError

    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        message = "--arguments is not a JSON object"
        raise CallError(message, code="invalid_arguments", status=400)
    return value


def _tell_new(made: Scaffold) -> None:
    say(f"wrote {made.directory} ({len(made.files)} files)")
    say(f"next: pip install -e {made.directory}")
    say(f"      aipm plugins check {made.directory}")
    say(f"      then name it in aipm.toml: [plugins.{made.name}]")


def _tell_checks(checks: list[Check]) -> None:
    for item in checks:
        name = f"{item.plugin}.{item.name}" if item.plugin else item.name
        say(f"{'ok  ' if item.ok else 'FAIL'}  {name:<28}  {item.message}")
    failed = sum(not item.ok for item in checks)
    say(f"{failed} of {len(checks)} checks failed" if failed else f"{len(checks)} checks passed")


def _tell_steps(steps: list[Step]) -> None:
    rows = [(step.plugin, step.what, f"{step.milliseconds:.2f}") for step in steps]
    table(("plugin", "what", "ms"), rows, empty="nothing ran")
    say(f"{sum(step.milliseconds for step in steps):.0f} ms in {len(steps)} steps")


def _tell_installed(made: Installed) -> None:
    if not made.plugins:
        say(f"installed {made.requirement}, which brings no plugin")
        return
    say(f"installed {made.requirement}: {', '.join(made.plugins)}")
    for name in made.plugins:
        say(f"next: name it in aipm.toml: [plugins.{name}]; `aipm plugins info {name}` tells more")
