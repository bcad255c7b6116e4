"""What docs/hooks.md says: the hookspecs and the records of the code."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from aipm_cli import discovery

from aipm_core.hookspecs import Hooks
from aipm_core.loading.hook_owners import CORE, Hook, known_hooks
from aipm_core.loading.validation import hooks_of
from aipm_core.plugin import PluginClass
from aipm_core.records import Phase

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "hooks.md"
TUTORIAL = {
    "aipm_migrations": "3-a-table",
    "aipm_tools": "1-the-first-tool",
    "aipm_authorizers": "6-an-authorizer",
    "aipm_response_middleware": "5-a-middleware",
}
HEAD = """\
# Hooks
<!-- Written by tools/hooks_page.py; run `make docs` after a change. -->

{rules}

```python
class Weather(Plugin[WeatherConfig]):
    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.forecast, access=Access.SESSION, read_only=True)
```

| hook | asked by | gives | what for |
|---|---|---|---|
{overview}

## Order
Plugins are built providers first (`provides`, `requires`, `uses`), the alphabet decides the rest,
and every hook is asked plugin by plugin in that order. During a call the records come into play
like this:

```
request → authenticators → authorizers GATE → find the tool → access → authorizers RIGHTS
        → check the arguments → authorizers STATE → authorizers CONSENT → run the tool
        → middleware {phases} → reply
```

A failure on the way is a reply too and passes the middleware. A plugin that raises, hangs or gives
garbage harms its own call only: an authorizer that fails denies, a middleware says itself whether
it is skipped or fails the call, a sink is logged. Wrapping a hook is refused, since a wrapper could
drop what other plugins give. Everything below is frozen and keyword-only; new fields come with a
default.
"""


def page() -> str:
    """Return the page as it should be."""
    plugins = {found.name: found.load() for found in discovery.installed() if found.first_party}
    hooks = known_hooks(plugins)
    phases = " → ".join(phase.name for phase in sorted(Phase))
    rules = (inspect.getdoc(inspect.getmodule(Hooks)) or "").partition("\n\n")[2]
    overview = "\n".join(map(_row, hooks.values()))
    head = HEAD.format(rules=_markdown(rules), overview=overview, phases=phases)
    users = _users(hooks, plugins)
    return head + "".join("\n".join(_section(hook, users[hook.name])) for hook in hooks.values())


def _row(hook: Hook) -> str:
    owner = "the core" if hook.owner == CORE else f"`{hook.owner}`"
    summary = _summary(getattr(hook.specs, hook.name))
    return f"| [`{hook.name}`](#{hook.name}) | {owner} | `{hook.kind.__name__}` | {summary} |"


def _section(hook: Hook, users: list[str]) -> Iterator[str]:
    yield f"\n## {hook.name}"
    yield f"{_markdown(inspect.getdoc(getattr(hook.specs, hook.name)) or '')}\n"
    if hook.owner != CORE:
        home = f"{hook.specs.__module__}.{hook.specs.__name__}"
        yield f"Owned by `{hook.owner}` (`{home}`).\n"
    yield f"**`{hook.kind.__name__}`** {_markdown(inspect.getdoc(hook.kind) or '')}\n"
    yield "| field | type | default |"
    yield "|---|---|---|"
    for field in dataclasses.fields(hook.kind):
        yield f"| `{field.name}` | `{_type(field)}` | {_default(field)} |"
    yield f"\nExamples: {', '.join(users) or 'none yet'}.\n"


def _users(hooks: Iterable[str], plugins: Mapping[str, PluginClass]) -> dict[str, list[str]]:
    """Return where each hook can be seen at work: the tutorial, then our own plugins."""
    users = {
        hook: [f"[tutorial](plugin-tutorial.md#{TUTORIAL[hook]})"] if hook in TUTORIAL else []
        for hook in hooks
    }
    for name, plugin in plugins.items():
        file = Path(inspect.getfile(plugin)).relative_to(REPOSITORY).as_posix()
        for hook in hooks_of(plugin):
            users[hook].append(f"[{name}](../{file})")
    return users


def _summary(spec: object) -> str:
    return _markdown(inspect.getdoc(spec) or "").partition(". ")[0].rstrip(".")


def _markdown(text: str) -> str:
    """Turn the marks of docstrings into Markdown."""
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")


def _type(field: dataclasses.Field[Any]) -> str:
    return str(field.type).replace("|", "\\|")


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    value = field.default
    if isinstance(value, Enum):
        return f"`{value}`"
    return f"`{value.__name__ if isinstance(value, type) else repr(value)}`"
