"""Asks the call-path hooks once and freezes the answers into a pipeline."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

from aipm_core.errors import CallError, PluginError
from aipm_core.loading.collecting import Manager, ask
from aipm_core.models import Audience, Request
from aipm_core.pipeline.arguments import parser_of, schema_of
from aipm_core.pipeline.call import Pipeline
from aipm_core.pipeline.registered import Registered
from aipm_core.records import Authenticator, Authorizer, Owned, ResponseMiddleware, Stage
from aipm_core.texts import Texts
from aipm_core.tools import AnyTool, Tool

_NAME = re.compile(r"[A-Za-z0-9_:-]{1,64}")


def compile_pipeline(
    manager: Manager,
    core_texts: Texts,
    plugin_texts: Mapping[str, Texts],
    missing: Callable[[Request], CallError],
) -> Pipeline:
    """Put together what the plugins gave; what is for people, only where there are any."""
    tools = ask(manager, "aipm_tools", Tool)
    for owned in ask(manager, "aipm_people_tools", Tool) if manager.installation.people else ():
        if owned.record.audience != "ui":
            raise PluginError(owned.plugin, f"aipm_people_tools gave agents {owned.record.name!r}")
        tools.append(owned)
    authorizers = ask(manager, "aipm_authorizers", Authorizer)
    steps = ask(manager, "aipm_response_middleware", ResponseMiddleware)
    return Pipeline(
        tools=_register(
            tools,
            core_texts,
            plugin_texts,
            lambda plugin: manager.installation.is_own(type(manager.get_plugin(plugin))),
        ),
        authenticators=ask(manager, "aipm_authenticators", Authenticator),
        authorizers={s: [o for o in authorizers if o.record.stage is s] for s in Stage},
        middleware=sorted(steps, key=lambda step: (step.record.phase, step.record.order)),
        texts=core_texts,
        missing=missing,
    )


def _register(
    tools: Iterable[Owned[Tool[Any]]],
    core_texts: Texts,
    plugin_texts: Mapping[str, Texts],
    is_own: Callable[[str], bool],
) -> dict[Audience, dict[str, Registered]]:
    catalogs: dict[Audience, dict[str, Registered]] = {name: {} for name in get_args(Audience)}
    by_package = {texts.owner: texts for texts in plugin_texts.values()}
    for owned in tools:
        plugin, texts = owned.plugin, plugin_texts[owned.plugin]
        tool = _worded(owned.record, texts)
        # A model may come from another plugin's api, and its words with it.
        package = getattr(tool.arguments, "__module__", "").partition(".")[0]
        registered = Registered(
            plugin=plugin,
            tool=tool,
            parse=parser_of(tool, core_texts, by_package.get(package, texts)),
            describe=partial(schema_of, tool, texts),
        )
        _check(plugin, tool)
        for audience in tool.audiences:
            taken = catalogs[audience].setdefault(tool.name, registered)
            if taken is not registered:
                raise _clash(tool.name, taken.plugin, plugin, is_own)
    return {audience: dict(sorted(found.items())) for audience, found in catalogs.items()}


def _worded(tool: AnyTool, texts: Texts) -> AnyTool:
    """Take title and description from the plugin's catalogue where it has them."""
    return replace(
        tool,
        title=texts.find(f"{tool.words}.title")
        or tool.title
        or tool.name.replace("_", " ").capitalize(),
        description=texts.find(f"{tool.words}.description") or tool.description,
    )


def _clash(tool: str, first: str, second: str, is_own: Callable[[str], bool]) -> PluginError:
    """Blame the second, or the one that is not aipm's own: that takes a name from aipm."""
    swapped = is_own(second) and not is_own(first)
    other, fault = (second, first) if swapped else (first, second)
    return PluginError(fault, f"tool {tool!r} is already offered by {other!r}")


def _check(plugin: str, tool: AnyTool) -> None:
    if not _NAME.fullmatch(tool.name):
        raise PluginError(plugin, f"tool name {tool.name!r} is not 1-64 of A-Z a-z 0-9 _ -")
    if not tool.description:
        raise PluginError(plugin, f"tool {tool.name!r} has no description")
