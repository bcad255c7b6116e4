"""``aipm plugins``: what is installed, on or off, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from aipm_cli import plugins_elsewhere
from aipm_cli.api import AsJson, Config, check_local, pairs, say, show, table, target
from aipm_cli.author_commands import add_commands

if TYPE_CHECKING:
    from aipm_cli.discovery import Choice
    from aipm_core import PluginClass

app = typer.Typer(
    help="What is installed, on or off, and why.",
    rich_markup_mode=None,
    invoke_without_command=True,
)
add_commands(app)


@app.callback()
def plugins(ctx: typer.Context, config: Config = None, as_json: AsJson = False) -> None:
    """What is installed, on or off, and why."""
    if ctx.invoked_subcommand is None:
        list_(config, as_json)


@app.command("list")
def list_(config: Config = None, as_json: AsJson = False) -> None:
    """List every installed plugin."""
    if target().server is not None:
        rows = plugins_elsewhere.lines(config)
    else:
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
    if target().server is not None:
        told = plugins_elsewhere.facts(config, name)
        show(told, as_json=as_json, human=lambda: _print_facts(told))
        return
    choices = _choices(config)
    named = sorted((c for c in choices if c.found.name == name), key=lambda c: not c.enabled)
    if not named:
        raise plugins_elsewhere.unknown(name)
    choice, facts = named[0], _line(named[0])
    if choice.enabled or choice.found.first_party:  # nothing of others is imported while it is off
        facts |= _facts(choice, choices)
    show(facts, as_json=as_json, human=lambda: _print_facts(facts))


def _choices(config: Path | None) -> list[Choice]:
    from aipm_cli import discovery, settings_file
    from aipm_cli.settings import Settings
    from aipm_cli.settings_place import FILE
    from aipm_core import ConfigError

    check_local(strict=False)

    try:
        settings = settings_file.load(config)
    except ConfigError:
        if config is not None or Path(FILE).exists():
            raise
        settings = Settings()
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


def _facts(choice: Choice, others: list[Choice]) -> dict[str, Any]:
    from inspect import getdoc

    from aipm_core.host import hooks_of

    plugin = choice.found.load()
    schema = plugin.config_model.model_json_schema().get("properties", {})
    return {
        "summary": (getdoc(plugin) or "").partition("\n")[0],
        "tools": _tools(choice, others),
        "hooks": hooks_of(plugin),
        "owns": _implementers(plugin, others),
        "provides": [key.name for key in plugin.provides],
        "requires": [key.name for key in plugin.requires],
        "uses": [key.name for key in plugin.uses],
        "settings": {name: value.get("default") for name, value in schema.items()},
    }


def _tools(choice: Choice, others: list[Choice]) -> list[str]:
    """Return the tools a plugin offers; of one that cannot be built now, those it has texts for."""
    from aipm_cli import discovery
    from aipm_cli.program import assemble
    from aipm_cli.settings import Settings
    from aipm_core import StartupError, Texts

    name, plugin = choice.found.name, choice.found.load()
    classes = discovery.load(others, Settings()) | {name: plugin}
    try:
        registered = assemble(Settings(), classes).registered()
    except StartupError:
        texts = Texts.load(plugin.__module__.partition(".")[0], "en")
        keys = [key.split(".") for key in sorted(texts.keys())]
        return sorted({key[1] for key in keys if key[0] == "tools"})
    return [one.tool.name for one in registered if one.plugin == name]


def _implementers(plugin: PluginClass, others: list[Choice]) -> dict[str, list[str]]:
    """Return who implements each hook a plugin owns, among the plugins that are on."""
    from aipm_core.host import hooks_of, kinds

    if plugin.hooks is None:
        return {}
    on = {other.found.name: hooks_of(other.found.load()) for other in others if other.enabled}
    return {
        hook: [name for name, implemented in on.items() if hook in implemented]
        for hook in kinds(plugin.hooks)
    }


def _print_facts(facts: dict[str, Any]) -> None:
    lists = {k: ", ".join(v) for k, v in facts.items() if isinstance(v, list)}
    pairs({**{k: v for k, v in facts.items() if k not in ("settings", "owns")}, **lists})
    for hook, names in facts.get("owns", {}).items():
        say(f"  owns {hook}: {', '.join(names) or 'nobody implements it'}")
    for name, default in facts.get("settings", {}).items():
        say(f"  [plugins.{facts['name']}] {name} = {default!r}")
    if "settings" not in facts:
        say("  its tools, hooks and settings are told once it is switched on")
