"""The plugins of a server elsewhere, as far as it tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_WHY = {
    "own": "first-party, on by default",
    "named": "named in the settings",
    "unnamed": "third-party, off until named in the settings",
    "other": "not used: another has a plugin of that name",
}
_LISTS = ("tools", "people_tools", "requires", "uses", "required_by", "used_by")


def lines(config: Path | None) -> list[dict[str, Any]]:
    """Return what `aipm plugins` lists."""
    return [_line(each) for each in _told(config)]


def facts(config: Path | None, name: str) -> dict[str, Any]:
    """Return what `aipm plugins info` shows; settings and hooks are known where it runs."""
    from aipm_cli.language import language

    for told in _told(config):
        if told["name"] == name:
            summary = told["summary"].get(language(config), "")
            return {**_line(told), "summary": summary, **{each: told[each] for each in _LISTS}}
    raise unknown(name)


def unknown(name: str) -> Exception:
    """Return the refusal of a name that no plugin has."""
    from aipm_core import CallError

    message = f"there is no plugin {name!r}; `aipm plugins` lists what is installed"
    return CallError(message, code="plugin_not_found", status=404)


def _told(config: Path | None) -> list[dict[str, Any]]:
    from aipm_cli.api import call_tool

    found: list[dict[str, Any]] = call_tool(config, "list_plugins")["plugins"]
    return found


def _line(told: dict[str, Any]) -> dict[str, Any]:
    enabled = told["state"] == "on"
    by_settings = f"enabled = {str(enabled).lower()} in the settings"
    about = {name: told[name] for name in ("name", "distribution", "version")}
    reason = told["problem"] or _WHY.get(told["why"], by_settings)
    return {**about, "enabled": enabled, "reason": reason}
