"""``aipm policy rules | try | allow | disallow``: what holds, and what other rules would mean."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, call_tool, local_time, say, show, table

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN_PATTERNS = 3
_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
Project = Annotated[
    str | None, typer.Option(help="Whose calls; may be left out where there is one project.")
]


def list_rules(
    project: Project = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the rules of the settings, those that people made, and those that are shipped."""
    found = call_tool(config, "list_rules", project_id=_project(config, project))
    rows = [(f"rules[{rule['number']}]", rule) for rule in found["rules"]]
    rows += [(f"made {rule['id']}", rule) for rule in found["made"]]
    rows += [(f"default: {rule['name']}", rule) for rule in found["defaults"]]
    shown = ([name, r["tool"], r["decision"], r["level"], _only(r)] for name, r in rows)
    columns = ("rule", "tool", "decision", "level", "only")
    empty = "no rule: everything is allowed"
    show(found, as_json=as_json, human=lambda: table(columns, shown, empty=empty))


def _only(rule: dict[str, Any]) -> str:
    """Say in short which calls of its tool a rule is about."""
    named = ("agent", "project", "purpose", "place", "between", "unreadable")
    told = [f"{name} = {rule[name]}" for name in named if rule[name] is not None]
    for name, patterns in rule["arguments"].items():
        several = [patterns] if isinstance(patterns, str) else patterns
        more = len(several) - _SHOWN_PATTERNS
        shown = ", ".join(several[:_SHOWN_PATTERNS]) + (f" and {more} more" if more > 0 else "")
        told.append(f"{name} = {shown}")
    if "expires_at" in rule:
        told.append(f"until {local_time(rule['expires_at'])}")
    return "; ".join(told)


def try_rules(
    file: Annotated[Path, typer.Argument(help="Rules as in aipm.toml; `-`: those that hold now.")],
    since: Annotated[str, typer.Option(help="How far back: 12h, 7d, 2w.")] = "7d",
    project: Project = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say what the calls of the last days would have got under other rules."""
    days = _days(since)
    about: dict[str, Any] = {"project_id": _project(config, project), "days": days}
    if str(file) != "-":
        about["rules"] = _rules_of(file)
    found = call_tool(config, "rehearse_rules", **about)
    show(found, as_json=as_json, human=lambda: _tell(found))


def allow(
    tool: Annotated[str, typer.Argument(help="A pattern of tool names, such as native:Bash.")],
    argument: Annotated[
        list[str] | None, typer.Option(help="NAME=PATTERN; may be given several times.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Only agents like this.")] = None,
    days: Annotated[float, typer.Option(help="When it ends.", min=0.01, max=365)] = 7.0,
    project: Project = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a rule with an end: allow what only a shipped rule asks about."""
    patterns = dict(_pair(one) for one in argument or ())
    about: dict[str, Any] = {"tool": tool, "arguments": patterns, "agent": agent, "days": days}
    made = call_tool(config, "make_rule", project_id=_project(config, project), **about)
    text = f"made {made['rule_id']}, until {local_time(made['expires_at'])}"
    show(made, as_json=as_json, human=lambda: say(text))


def disallow(
    id: Annotated[str, typer.Argument(help="From `aipm policy rules`.")],  # noqa: A002
    project: Project = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Take back a rule that was made with `aipm policy allow`."""
    told = call_tool(config, "revoke_rule", project_id=_project(config, project), rule_id=id)
    show(told, as_json=as_json, human=lambda: say(f"revoked {id}"))


def propose(
    id: Annotated[str, typer.Argument(help="From `aipm inbox`.")],  # noqa: A002
    arguments: Annotated[str, typer.Argument(help="All arguments you would agree to, as JSON.")],
    reason: Annotated[str | None, typer.Option(help="Why; the agent reads it.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Deny a call and say with which arguments it may run; that call is not asked about again."""
    import json

    try:
        told = json.loads(arguments)
    except ValueError as error:
        raise typer.BadParameter(f"that is no JSON: {error}", param_hint="ARGUMENTS") from None
    if not isinstance(told, dict):
        raise typer.BadParameter('write an object: {"name": "value"}', param_hint="ARGUMENTS")
    about = {"confirmation_id": id, "arguments": told, "reason": reason}
    done = call_tool(config, "propose_instead", **about)
    show(done, as_json=as_json, human=lambda: say(f"denied {id}; the other call may run once"))


def _project(config: Path | None, named: str | None) -> str:
    if named is not None:
        return named
    found = [one["id"] for one in call_tool(config, "list_projects")["projects"]]
    if len(found) != 1:
        known = ", ".join(found) or "there is none yet"
        raise typer.BadParameter(f"name a project ({known})", param_hint="--project")
    return str(found[0])


def _days(since: str) -> float:
    told = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([hdw])", since)
    if told is None or not 0 < (days := float(told[1]) * _DAYS[told[2]]) <= 365:  # noqa: PLR2004
        raise typer.BadParameter("say it like 12h, 7d or 2w, up to a year", param_hint="--since")
    return days


def _pair(text: str) -> tuple[str, str]:
    name, equals, pattern = text.partition("=")
    if not (name and equals):
        raise typer.BadParameter("write it as NAME=PATTERN", param_hint="--argument")
    return name, pattern


def _rules_of(file: Path) -> list[dict[str, Any]]:
    """Read rules from a settings file, or from a file with nothing but ``[[rules]]``."""
    import tomllib

    from aipm_core import StartupError

    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StartupError(f"{file}: {error}") from None
    inner = told.get("plugins", {}).get("policy", {}) if "rules" not in told else told
    rules = inner.get("rules") if isinstance(inner, dict) else None
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        text = f"{file}: there is no [[rules]] and no [[plugins.policy.rules]] in it"
        raise StartupError(text)
    return rules


def _tell(found: dict[str, Any]) -> None:
    calls, left_out = found["calls"], found["not_judged"]
    more = f" ({left_out} more are kept without their arguments)" if left_out else ""
    say(f"{calls} calls in {found['days']:g} days{more}")
    before, after = found["before"], found["after"]
    table(
        ("decision", "was", "would be"),
        ([name, before[name], after[name]] for name in after),
        empty="",
    )
    daily = (found["questions_per_day_before"], found["questions_per_day"])
    say(f"questions a day: {daily[0]:g}, would be {daily[1]:g}")
    if found["changed"]:
        columns = ("times", "tool", "what", "before", "after", "rule")
        say("")
        table(columns, ([one[name] for name in columns] for one in found["changed"]), empty="")
    for one in found["suggestions"]:
        say(f"{one['removes']} questions fewer with: {_command(one['rule'])}")


def _command(rule: dict[str, Any]) -> str:
    import shlex

    pairs: Iterable[tuple[str, str]] = rule.get("arguments", {}).items()
    words = [f"--argument {shlex.quote(f'{name}={pattern}')}" for name, pattern in pairs]
    return " ".join(["aipm policy allow", rule["tool"], *words])
