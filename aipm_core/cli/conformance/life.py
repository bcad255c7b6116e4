"""Questions about a plugin in a runtime: alone, twice, and beside all of aipm's own plugins."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable
from pathlib import Path
from string import Formatter
from typing import Any

import anyio
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import BaseModel

from aipm_core.cli.conformance.subject import Subject, Unfit
from aipm_core.config import Settings
from aipm_core.context import PluginClass
from aipm_core.contributions import Owned
from aipm_core.errors import StartupError
from aipm_core.hookspecs import kinds
from aipm_core.pipeline import Registered
from aipm_core.plugins import discovery
from aipm_core.plugins.asking import ask
from aipm_core.runtime import Runtime, assemble, open_runtime
from aipm_core.store import Migration
from aipm_core.texts import LOCALES, Locale, Texts
from aipm_core.tools import Tool


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
    offered = {registered.tool.name for registered in _tools(subject, "ja")}
    known = offered.union(subject.plugin.offers)  # some are offered only if the settings say so
    for key in sorted(ja.keys()):
        if key.startswith("tools.") and key.split(".")[1] not in known:
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


def _open(classes: dict[str, PluginClass], data_dir: Path | None = None) -> None:
    async def run(place: Path) -> None:
        async with open_runtime(Settings(data_dir=place), classes):
            pass

    try:
        with tempfile.TemporaryDirectory(prefix="aipm-check-") as temporary:
            anyio.run(run, data_dir or Path(temporary))
    except StartupError as error:
        raise Unfit(str(error)) from None


def _company(subject: Subject) -> dict[str, PluginClass]:
    """Return the plugin together with the plugins it cannot start without."""
    available = {**_first_party(), subject.name: subject.plugin}
    providers = {key: name for name, plugin in available.items() for key in plugin.provides}
    chosen: dict[str, PluginClass] = {}
    waiting = [subject.name]
    while waiting:
        name = waiting.pop()
        chosen[name] = available[name]
        wanted = [key for key in available[name].requires if key not in providers]
        if wanted:
            raise Unfit(f"{name} requires {wanted[0].name}, which no plugin of aipm provides")
        needed = {providers[key] for key in available[name].requires}
        waiting += sorted(needed - set(chosen))
    return chosen


def _first_party() -> dict[str, PluginClass]:
    return {found.name: found.load() for found in discovery.installed() if found.first_party}


def _assembled(subject: Subject, locale: Locale) -> Runtime:
    settings = Settings(data_dir=Path("unused"), locale=locale)
    try:
        return assemble(settings, _company(subject))
    except StartupError as error:
        raise Unfit(str(error)) from None


def _tools(subject: Subject, locale: Locale) -> list[Registered]:
    registered = _assembled(subject, locale).registered()
    return [item for item in registered if item.plugin == subject.name]


def _records(subject: Subject) -> Iterable[Any]:
    manager = _assembled(subject, "ja").manager
    for hook, kind in kinds().items():
        given: list[Owned[Any]] = ask(manager, hook, kind)
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
    if not _closed(tool) or schema.get("additionalProperties") is not False:
        raise Unfit(f"tool {tool.name!r} accepts unknown arguments; derive them from Arguments")


def _closed(tool: Tool[Any]) -> bool:
    arguments = tool.arguments
    if isinstance(arguments, type) and issubclass(arguments, BaseModel):
        return arguments.model_config.get("extra") == "forbid"
    return True


def _places(text: str | None) -> set[str]:
    return {place for _, place, _, _ in Formatter().parse(text or "") if place is not None}
