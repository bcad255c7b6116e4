"""Questions about a plugin in a runtime: alone, twice, and beside all of aipm's own plugins."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from string import Formatter
from typing import Any

import anyio
from aipm_cli import discovery
from aipm_cli.program import assemble, open_runtime
from aipm_cli.settings import Settings
from aipm_runner.api import RunnerHooks
from aipm_runner.conformance.rules import faults
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import BaseModel

from aipm_core import LOCALES, Locale, Migration, Owned, PluginClass, StartupError, Texts, Tool
from aipm_core.host import Registered, Runtime, ask, known_hooks
from aipm_devkit.conformance.target import Subject, Unfit


def starts(subject: Subject) -> str:
    """The plugin starts with what it requires, and nothing else."""
    company = _company(subject)
    _open(company)
    others = sorted(set(company) - {subject.name})
    return f"starts with {', '.join(others)}, which it requires" if others else "starts alone"


def texts(subject: Subject) -> str:
    """Both languages say the same things, with the same places, about tools that exist."""
    ja, en = (Texts.load(subject.package, locale) for locale in LOCALES)
    if odd := sorted(ja.keys() ^ en.keys()):
        present = "ja" if odd[0] in ja.keys() else "en"  # noqa: SIM118 - not a mapping
        raise Unfit(f"the text {odd[0]!r} is in locale/{present}.toml only")
    for key in sorted(ja.keys()):
        if _places(ja.find(key)) != _places(en.find(key)):
            raise Unfit(f"the text {key!r} has different {{places}} in ja and en")
    known = {item.tool.name for item in _tools(subject, "ja")}
    with suppress(Unfit):  # some tools are offered only beside others' plugins
        everybody = _assembled(_everybody(subject), "ja")
        known |= {item.tool.name for item in everybody.registered()}
    for key in sorted(ja.keys()):
        if key.startswith(("tools.", "people.")) and key.split(".")[1] not in known:
            raise Unfit(f"the text {key!r} is about a tool the plugin does not offer")
    return f"{len(ja.keys())} texts in each language" if ja.keys() else "no catalogue"


def tools(subject: Subject) -> str:
    """Every tool tells an agent in both languages what it does, takes and changes."""
    for locale in LOCALES:
        for registered in _tools(subject, locale):
            _check_tool(registered, locale)
    return ", ".join(registered.tool.name for registered in _tools(subject, "ja")) or "none"


def deadlines(subject: Subject) -> str:
    """Every record that runs during a call has a deadline that comes."""
    seconds = []
    for record in _records(subject):
        deadline = getattr(record, "deadline", None)
        if deadline is None:
            continue
        if not (math.isfinite(deadline) and deadline > 0):
            raise Unfit(f"{getattr(record, 'name', record)} has the deadline {deadline} s")
        seconds.append(deadline)
    return f"{len(seconds)} records, at most {max(seconds)} s" if seconds else "no records"


def migrations(subject: Subject) -> str:
    """The tables can be made, and a second start leaves them alone."""
    company = _company(subject)
    names = [r.name for r in _records(subject) if isinstance(r, Migration)]
    if double := {name for name in names if names.count(name) > 1}:
        raise Unfit(f"the migration {min(double)!r} is there twice")
    with tempfile.TemporaryDirectory(prefix="aipm-check-") as data_dir:
        for _ in range(2):
            _open(company, Path(data_dir))
    return ", ".join(names) or "none"


def company(subject: Subject) -> str:
    """The plugin starts beside all of aipm's own plugins, and takes no name of theirs."""
    ours = _first_party()
    _open({**ours, subject.name: subject.plugin})
    return f"starts beside {len(ours)} plugins of aipm"


def adapters(subject: Subject) -> str:
    """Every adapter bears the failures of real programs, and hides what is secret."""
    if not hasattr(subject.plugin, RunnerHooks.aipm_runner_adapters.__name__):
        return "none"
    offered = _assembled(_company(subject, "runner"), "ja").given(RunnerHooks.aipm_runner_adapters)
    given = [owned.record for owned in offered if owned.plugin == subject.name]

    async def ask_all() -> None:
        for adapter in given:
            async for fault in faults(adapter):
                raise Unfit(f"adapter {adapter.name!r}: {fault}")

    anyio.run(ask_all)
    return ", ".join(adapter.name for adapter in given)


def _open(classes: dict[str, PluginClass], data_dir: Path | None = None) -> None:
    async def run(place: Path) -> None:
        async with open_runtime(Settings(data_dir=place), classes):
            pass

    try:
        with tempfile.TemporaryDirectory(prefix="aipm-check-") as temporary:
            anyio.run(run, data_dir or Path(temporary))
    except StartupError as error:
        raise Unfit(str(error)) from None


def _company(subject: Subject, *others: str) -> dict[str, PluginClass]:
    """Return the plugin, and others of aipm, with the plugins they cannot start without."""
    available = _everybody(subject)
    providers = {key: name for name, plugin in available.items() for key in plugin.provides}
    chosen: dict[str, PluginClass] = {}
    waiting = [subject.name, *others]
    while waiting:
        name = waiting.pop()
        chosen[name] = available[name]
        wanted = [key for key in available[name].requires if key not in providers]
        if wanted:
            raise Unfit(f"{name} requires {wanted[0].name}, which no plugin of aipm provides")
        needed = {providers[key] for key in available[name].requires}
        waiting += sorted(needed - set(chosen))
    return chosen


def _everybody(subject: Subject) -> dict[str, PluginClass]:
    """Return the plugin together with all of aipm's own whose place it does not take."""
    return discovery.without_replaced({**_first_party(), subject.name: subject.plugin})


def _first_party() -> dict[str, PluginClass]:
    return {found.name: found.load() for found in discovery.installed() if found.first_party}


def _assembled(classes: dict[str, PluginClass], locale: Locale) -> Runtime:
    settings = Settings(data_dir=Path("unused"), locale=locale)
    try:
        return assemble(settings, classes)
    except StartupError as error:
        raise Unfit(str(error)) from None


def _tools(subject: Subject, locale: Locale) -> list[Registered]:
    registered = _assembled(_company(subject), locale).registered()
    return [item for item in registered if item.plugin == subject.name]


def _records(subject: Subject) -> Iterable[Any]:
    manager = _assembled(_company(subject), "ja").manager
    for hook in known_hooks(_company(subject)).values():
        given: list[Owned[Any]] = ask(manager, hook.name, hook.kind)
        yield from (owned.record for owned in given if owned.plugin == subject.name)


def _check_tool(registered: Registered, locale: Locale) -> None:
    tool, schema = registered.tool, registered.schema
    if not (tool.title.strip() and tool.description.strip()):
        raise Unfit(f"tool {tool.name!r} has no title or description in {locale}")
    if tool.read_only and tool.destructive:
        raise Unfit(f"tool {tool.name!r} says it is read-only and destructive")
    if tool.audience == "agent" and ":" in tool.name:
        raise Unfit(f"tool {tool.name!r} has a name that MCP clients refuse")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise Unfit(f"tool {tool.name!r} has an invalid schema: {error.message}") from None
    if tool.audience == "native":
        return  # what another program may do is that program's to say
    if not _closed(tool) or schema.get("additionalProperties") is not False:
        raise Unfit(f"tool {tool.name!r} accepts unknown arguments; derive them from Arguments")


def _closed(tool: Tool[Any]) -> bool:
    arguments = tool.arguments
    if isinstance(arguments, type) and issubclass(arguments, BaseModel):
        return arguments.model_config.get("extra") == "forbid"
    return True


def _places(text: str | None) -> set[str]:
    return {place for _, place, _, _ in Formatter().parse(text or "") if place is not None}
