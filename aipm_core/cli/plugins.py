"""``aipm plugins``: what is installed, on or off, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aipm_core.commands import AsJson, Config, pairs, say, show, table

if TYPE_CHECKING:
    from aipm_core.cli.conformance.probe import Check
    from aipm_core.cli.scaffold import Scaffold
    from aipm_core.plugins.discovery import Choice

app = typer.Typer(
    help="What is installed, on or off, and why.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback()
def plugins(ctx: typer.Context, config: Config = None, as_json: AsJson = False) -> None:
    """What is installed, on or off, and why."""
    if ctx.invoked_subcommand is None:
        list_(config, as_json)


@app.command("list")
def list_(config: Config = None, as_json: AsJson = False) -> None:
    """List every installed plugin."""
    rows = [_line(choice) for choice in _choices(config)]
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            ("", "plugin", "version", "distribution", "why"),
            (
                (
                    "on" if r["enabled"] else "off",
                    r["name"],
                    r["version"],
                    r["distribution"],
                    r["reason"],
                )
                for r in rows
            ),
            empty="no plugin is installed",
        ),
    )


@app.command()
def info(name: str, config: Config = None, as_json: AsJson = False) -> None:
    """Show one plugin: its tools, hooks, services and settings."""
    from aipm_core.errors import CallError

    choice = next((c for c in _choices(config) if c.found.name == name), None)
    if choice is None:
        message = f"there is no plugin {name!r}; `aipm plugins` lists what is installed"
        raise CallError(message, code="plugin_not_found", status=404)
    facts = {**_line(choice), **_facts(choice)}
    show(facts, as_json=as_json, human=lambda: _print_facts(facts))


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="a-z, 0-9, '-' and '_'.")],
    directory: Annotated[Path, typer.Option("--dir", help="Where to put aipm-NAME.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a working third-party plugin with its test."""
    from aipm_core.cli.scaffold import write_plugin

    made = write_plugin(name, directory)
    data = {"name": made.name, "directory": str(made.directory.resolve()), "files": made.files}
    show(data, as_json=as_json, human=lambda: _tell_new(made))


@app.command()
def check(
    target: Annotated[str, typer.Argument(help="A plugin's directory, or an installed name.")],
    as_json: AsJson = False,
) -> None:
    """Run the conformance checks on a plugin; its code is executed in a process of its own."""
    from dataclasses import asdict

    from aipm_core.cli.conformance.probe import examine

    checks = examine(target)
    show([asdict(item) for item in checks], as_json=as_json, human=lambda: _tell_checks(checks))
    raise typer.Exit(0 if all(item.ok for item in checks) else 1)


def _choices(config: Path | None) -> list[Choice]:
    from aipm_core import config as settings_file
    from aipm_core.errors import ConfigError
    from aipm_core.plugins import discovery

    try:
        settings = settings_file.load(config)
    except ConfigError:
        if config is not None or Path(settings_file.FILE).exists():
            raise
        settings = settings_file.Settings()
    return discovery.choose(discovery.installed(), settings)


def _line(choice: Choice) -> dict[str, Any]:
    found = choice.found
    return {
        "name": found.name,
        "distribution": found.distribution,
        "version": found.version,
        "enabled": choice.enabled,
        "reason": choice.reason,
    }


def _facts(choice: Choice) -> dict[str, Any]:
    from inspect import getdoc

    from aipm_core.plugins.shape import hooks_of

    plugin = choice.found.load()
    schema = plugin.config_model.model_json_schema().get("properties", {})
    return {
        "summary": (getdoc(plugin) or "").partition("\n")[0],
        "tools": list(plugin.offers),
        "hooks": hooks_of(plugin),
        "provides": [key.name for key in plugin.provides],
        "requires": [key.name for key in plugin.requires],
        "uses": [key.name for key in plugin.uses],
        "settings": {name: value.get("default") for name, value in schema.items()},
    }


def _print_facts(facts: dict[str, Any]) -> None:
    lists = {k: ", ".join(v) for k, v in facts.items() if isinstance(v, list)}
    pairs({**{k: v for k, v in facts.items() if k != "settings"}, **lists})
    for name, default in facts["settings"].items():
        say(f"  [plugins.{facts['name']}] {name} = {default!r}")


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
