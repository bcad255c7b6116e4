"""Asks the call-path hooks once and freezes the answers into a pipeline."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pluggy

from aipm_core.arguments import parser_of, schema_of
from aipm_core.contributions import Authenticator, Authorizer, Gate, Owned, ResponseMiddleware
from aipm_core.errors import CallError, PluginError
from aipm_core.pipeline import Pipeline, Registered
from aipm_core.plugins.asking import ask
from aipm_core.texts import Texts
from aipm_core.tools import AnyTool, Tool

_NAME = re.compile(r"[A-Za-z0-9_:-]{1,64}")


def compile_pipeline(
    manager: pluggy.PluginManager,
    core_texts: Texts,
    plugin_texts: Mapping[str, Texts],
    missing: Callable[[str], CallError],
    own_gates: Sequence[Owned[Gate]] = (),
) -> Pipeline:
    """Put together what the plugins gave."""
    steps = ask(manager, "aipm_response_middleware", ResponseMiddleware)
    return Pipeline(
        tools=_register(ask(manager, "aipm_tools", Tool), core_texts, plugin_texts, manager),
        authenticators=ask(manager, "aipm_authenticators", Authenticator),
        gates=[*own_gates, *ask(manager, "aipm_gates", Gate)],
        authorizers=ask(manager, "aipm_authorizers", Authorizer),
        middleware=sorted(steps, key=lambda step: step.record.phase),
        texts=core_texts,
        missing=missing,
    )


def _register(
    tools: Iterable[Owned[Tool[Any]]],
    core_texts: Texts,
    plugin_texts: Mapping[str, Texts],
    manager: pluggy.PluginManager,
) -> dict[str, Registered]:
    catalog: dict[str, Registered] = {}
    for owned in tools:
        plugin, texts = owned.plugin, plugin_texts[owned.plugin]
        tool = _worded(owned.record, texts)
        _check(plugin, tool, catalog, manager)
        catalog[tool.name] = Registered(
            plugin=plugin,
            tool=tool,
            parse=parser_of(tool, core_texts),
            describe=partial(schema_of, tool, texts),
        )
    return dict(sorted(catalog.items()))


def _worded(tool: AnyTool, texts: Texts) -> AnyTool:
    """Take title and description from the plugin's catalogue where it has them."""
    return replace(
        tool,
        title=texts.find(f"tools.{tool.name}.title") or tool.title or _title(tool.name),
        description=texts.find(f"tools.{tool.name}.description") or tool.description,
    )


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _check(
    plugin: str, tool: AnyTool, catalog: Mapping[str, Registered], manager: pluggy.PluginManager
) -> None:
    if tool.name in catalog:
        other = catalog[tool.name].plugin
        raise PluginError(plugin, f"tool {tool.name!r} is already offered by {other!r}")
    if not _NAME.fullmatch(tool.name):
        raise PluginError(plugin, f"tool name {tool.name!r} is not 1-64 of A-Z a-z 0-9 _ -")
    if not tool.description:
        raise PluginError(plugin, f"tool {tool.name!r} has no description")
    offers: tuple[str, ...] = getattr(manager.get_plugin(plugin), "offers", ())
    if offers and tool.name not in offers:
        raise PluginError(plugin, f"tool {tool.name!r} is missing in `offers`")
