"""What docs/hooks.md says: the hookspecs and the records of the code."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from aipm_core.contributions import Phase
from aipm_core.hookspecs import Hooks, kinds
from aipm_core.plugins import discovery

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

| hook | gives | what for |
|---|---|---|
{overview}

## Order
Plugins are built providers first (`provides`, `requires`, `uses`), the alphabet decides the rest,
and every hook is asked plugin by plugin in that order. During a call the records come into play
like this:

```
request → authenticators → gates → find the tool → access → authorizers (static)
        → check the arguments → authorizers → run the tool → middleware {phases} → reply
```

A failure on the way is a reply too and passes the middleware. A plugin that raises, hangs or gives
garbage harms its own call only: an authorizer that fails denies, a middleware says itself whether
it is skipped or fails the call, a sink is logged. Wrapping a hook is refused, since a wrapper could
drop what other plugins give. Everything below is frozen and keyword-only; new fields come with a
default.
"""


def page() -> str:
    """Return the page as it should be."""
    hooks = kinds()
    overview = "\n".join(
        f"| [`{hook}`](#{hook}) | `{record.__name__}` | {_summary(getattr(Hooks, hook))} |"
        for hook, record in hooks.items()
    )
    phases = " → ".join(phase.name for phase in sorted(Phase))
    rules = (inspect.getdoc(inspect.getmodule(Hooks)) or "").partition("\n\n")[2]
    head = HEAD.format(rules=_markdown(rules), overview=overview, phases=phases)
    users = _users(list(hooks))
    return head + "".join(
        "\n".join(_section(hook, record, users[hook])) for hook, record in hooks.items()
    )


def _section(hook: str, record: type[Any], users: list[str]) -> Iterator[str]:
    yield f"\n## {hook}"
    yield f"{_markdown(inspect.getdoc(getattr(Hooks, hook)) or '')}\n"
    yield f"**`{record.__name__}`** {_markdown(inspect.getdoc(record) or '')}\n"
    yield "| field | type | default |"
    yield "|---|---|---|"
    for field in dataclasses.fields(record):
        yield f"| `{field.name}` | `{_type(field)}` | {_default(field)} |"
    yield f"\nExamples: {', '.join(users) or 'none yet'}.\n"


def _users(hooks: list[str]) -> dict[str, list[str]]:
    """Say where each hook can be seen at work: the tutorial, then our own plugins."""
    users = {
        hook: [f"[tutorial](plugin-tutorial.md#{TUTORIAL[hook]})"] if hook in TUTORIAL else []
        for hook in hooks
    }
    for found in discovery.installed():
        if not found.first_party:
            continue
        plugin = found.load()
        file = Path(inspect.getfile(plugin)).relative_to(REPOSITORY).as_posix()
        for hook in hooks:
            if hasattr(plugin, hook):
                users[hook].append(f"[{found.name}](../{file})")
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
