"""docs/reference/errors.md: every code there is, with its status and its texts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache

from tools.reference.markdown import code, literal, page, table
from tools.reference.refusals import REPOSITORY, Refusal, refusals

INTRODUCTION = """\
A refused call is a tool result with `isError: true` and
`{"error": {"code", "status", "message"}, "notification"?}`. Codes and statuses are stable; messages
are for reading and come in the language of `locale`. **A call that fails has written nothing.**
User interfaces get the same codes in `{"type": "error", "id", "code", "message"}`, HTTP routes as
the body of the response, the command line as one sentence and an exit code.

An unknown tool name is a JSON-RPC error (-32602, `data.code = "tool_not_found"`), as MCP asks.
Where a code has several texts, the situation chooses. What is only said on the command line or over
HTTP before anybody is known is in English.
"""
_NOT_CODES = {"aipm_ui_gateway": {"resync_required"}}
_FREE = "one sentence that says what is wrong"
# Codes whose text is chosen by a variable, so that no one place shows it.
_CHOSEN = {"aipm_policy": {"denied_by_policy", "policy_error"}}


def write() -> str:
    """Return the page as it should be."""
    found = refusals()
    _check_complete(found)
    packages = sorted(
        {seen.package for seen in found}, key=lambda name: (name != "aipm_core", name)
    )
    return page("Errors", INTRODUCTION, *(_section(package, found) for package in packages))


def _section(package: str, found: list[Refusal]) -> str:
    rows: dict[tuple[str, int], list[str]] = {}
    for seen in found:
        if seen.package == package:
            texts = rows.setdefault((seen.code, seen.status or _elsewhere(seen, found)), [])
            texts += [text for text in _texts(seen) if text not in texts]
    title = "The core" if package == "aipm_core" else package.removeprefix("aipm_")
    told = [
        (code(name), str(status or "varies"), "<br>".join(map(literal, texts)) or _FREE)
        for (name, status), texts in sorted(rows.items())
    ]
    return f"## {title}\n{table(('code', 'status', 'text'), told)}"


def _elsewhere(seen: Refusal, found: list[Refusal]) -> int:
    """Return the status of a code whose status is a variable here and written out elsewhere."""
    return next((other.status for other in found if other.code == seen.code and other.status), 0)


def _texts(seen: Refusal) -> list[str]:
    keys = [seen.text]
    if seen.package in _CHOSEN and seen.code in _CHOSEN[seen.package]:
        keys += [f"errors.{key}" for key in sorted(_CHOSEN[seen.package])]
    if not seen.text:
        keys.append(f"errors.{seen.code}")
    texts: list[str] = []
    for key in keys:
        if key.startswith("errors."):
            texts += [catalogue(seen.package, locale).get(key, "") for locale in ("en", "ja")]
        else:
            texts.append(key)
    return [text for text in texts if text]


@cache
def catalogue(package: str, locale: str) -> Mapping[str, str]:
    """Read the errors of a package's catalogue, by key."""
    folder = package if package == "aipm_core" else f"plugins/{package[5:]}/{package}"
    file = REPOSITORY / folder / "locale" / f"{locale}.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return {f"errors.{key}": text for key, text in table.get("errors", {}).items()}


def _check_complete(found: list[Refusal]) -> None:
    """Refuse to write a page that lacks an error of a catalogue."""
    for package in {seen.package for seen in found}:
        here = [seen for seen in found if seen.package == package]
        known = {f"errors.{seen.code}" for seen in here} | {seen.text for seen in here}
        known |= {f"errors.{key}" for key in _NOT_CODES.get(package, ())}
        known |= {f"errors.{key}" for key in _CHOSEN.get(package, ())}
        if lost := sorted(set(catalogue(package, "en")) - known):
            raise SystemExit(f"{package}: nothing in the source refuses with {', '.join(lost)}")
