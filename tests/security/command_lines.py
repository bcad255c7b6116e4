"""Every command of the program, as somebody would call it for whom it works."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aipm_cli.root import app
from typer.main import get_command

from tools.reference.commands import walk

# A word beginning with ``--`` is an option and its value; others are arguments, by name.
LINES: Mapping[str, Mapping[str, str]] = {
    "agent add": {
        "id": "newt",
        "--project": "p",
        "--parent": "boss",
        "--name": "N",
        "--program": "",
        "--model": "m",
        "--role-text": "r",
        "--workspace": "directory",
    },
    "agent edit": {
        "id": "newt",
        "--name": "N",
        "--parent": "boss",
        "--program": "",
        "--model": "m",
        "--role-text": "r",
        "--workspace": "directory",
    },
    "agent assign": {"id": "ann", "--project": "q"},
    "agent list": {"--project": "p"},
    "agent rekey": {"id": "newt"},
    "agent revoke": {"agent_id": "ann", "id": "agt_x", "--project": "p"},
    "agent token": {"agent_id": "ann", "--project": "p", "--purpose": "task"},
    "agent tokens": {"agent_id": "ann", "--project": "p"},
    "agent remove": {"id": "newt"},
    "agent unassign": {"id": "ann", "--project": "q"},
    "announce": {"text": "hello"},
    "approve": {"id": "tsk_x", "--as": "mia", "--reason": "r", "--note": "r", "--scope": "once"},
    "activity": {"--project": "p"},
    "audit list": {"--limit": "5", "--project": "p"},
    "audit verify": {"--expect": "x"},
    "backup": {"target": "copy.db"},
    "broadcast": {"text": "hello", "--project": "p", "--to": "ann"},
    "chat": {
        "agent_id": "ann",
        "--project": "p",
        "--token-env": "T",
        "--url": "http://127.0.0.1:1",
    },
    "connect": {"client": "claude", "--agent": "ann", "--project": "p", "--dir": "here"},
    "db copy": {"--to": "mysql://x"},
    "demo": {"--locale": "xx"},
    "deny": {"id": "tsk_x", "--as": "mia", "--reason": "r", "--note": "n"},
    "doctor": {},
    "down": {},
    "inbox": {"--project": "p"},
    "inbox hand-over": {"id": "cnf_x", "to": "mia", "--note": "n"},
    "inbox snooze": {"id": "cnf_x", "--until": "2026-01-01T00:00:00Z"},
    "init": {"directory": "here"},
    "logs": {"--server": "http://127.0.0.1:1"},
    "mcp-config": {"--client": "claude"},
    "messages": {"agent_id": "ann", "--project": "p", "--search": "x"},
    "notify": {
        "agent": "ann",
        "--project": "p",
        "--type": "message",
        "--message": "m",
        "--action": "resume",
        "--audience": "chat",
    },
    "open": {"--as": "mia"},
    "plugins": {},
    "plugins check": {"target": "nothing"},
    "plugins info": {"name": "tasks"},
    "plugins install": {"requirement": "./nothing"},
    "plugins list": {},
    "plugins new": {"name": "thing", "--dir": "things", "--kind": "tool"},
    "plugins trace": {"tool": "help", "--arguments": "{}", "--plugin": "tasks"},
    "policy grants": {"--project": "p"},
    "policy revoke": {"id": "grant_x"},
    "policy rules": {"--project": "p"},
    "policy allow": {
        "tool": "native:Bash",
        "--project": "p",
        "--argument": "command=x",
        "--agent": "ann",
    },
    "policy disallow": {"id": "rul_x", "--project": "p"},
    "policy propose": {"id": "cnf_x", "arguments": "{}", "--reason": "r"},
    "policy try": {"file": "-", "--project": "p", "--since": "7d"},
    "project add": {"id": "newp", "--dir": "newp", "--name": "N"},
    "project archive": {"id": "newp"},
    "project delete": {"id": "newp"},
    "project edit": {"id": "newp", "--dir": "newp", "--name": "N"},
    "project pause": {"id": "newp"},
    "project resume": {"id": "newp"},
    "project list": {"--config": "aipm.toml"},
    "restore": {"file": "nothing.db"},
    "runner": {"--server": "http://127.0.0.1:1", "--project": "nope", "--under": "nobody"},
    "runs diff": {"id": "run_x"},
    "runs merge": {"id": "run_x"},
    "runs list": {"--project": "p"},
    "runs log": {"id": "run_x"},
    "runs show": {"id": "run_x"},
    "runs start": {"agent": "worker", "--project": "p"},
    "runs stop": {"id": "run_x"},
    "runs undo": {"id": "run_x"},
    "say": {"agent_id": "ann", "text": "hello", "--project": "p", "--as": "mia"},
    "session end": {"id": "ses_x"},
    "session list": {"--project": "p"},
    "status": {"--project": "p", "--as": "mia"},
    "task add": {
        "--project": "p",
        "--title": "t",
        "--assignee": "ann",
        "--description": "d",
        "--priority": "low",
        "--parent": "tsk_x",
        "--status": "todo",
        "--depends-on": "tsk_x",
    },
    "task archive": {"id": "tsk_x"},
    "task assign": {"id": "tsk_x", "agent": "ann"},
    "task delete": {"id": "tsk_x"},
    "task depend": {"id": "tsk_x", "on": "tsk_y"},
    "task edit": {"id": "tsk_x", "--title": "t", "--priority": "low", "--description": "d"},
    "task history": {"id": "tsk_x"},
    "task list": {"--project": "p", "--status": "todo", "--assignee": "ann"},
    "task reopen": {"id": "tsk_x", "--reason": "r"},
    "task show": {"id": "tsk_x"},
    "task status": {"id": "tsk_x", "status": "todo", "--reason": "r"},
    "task unassign": {"id": "tsk_x"},
    "token create": {"--agent": "mia"},
    "token list": {"--agent": "mia"},
    "token revoke": {"id": "uit_x", "--agent": "mia"},
    "up": {"--host": "evil.example", "--port": "x", "--plugin-dir": "nothing"},
    "withdraw": {"message_id": "msg_x", "--project": "p", "--instead": "t", "--as": "mia"},
    "work": {"--project": "p", "--supervisor": "s", "--ended": "claim_x"},
}
# They name a place of the caller's choice.
PATHS = frozenset({"directory", "target", "file", "--dir", "--plugin-dir", "--config"})
# Numbers and the rest that typer reads itself, and what waits for ever by design.
_LEFT_OUT = frozenset(
    [
        "--limit",
        "--lines",
        "--days",
        "--after",
        "--wait",
        "--claim",
        "--lease",
        "--watch",
        "--http",
        "--verbose",
        "--repairs",
        "--replace",
        "--fast",
        "--print",
        "--budget",
        "--prompt-file",
        "--type",
        "--role",
        "--json",
        "--config",
        "--install-completion",
        "--show-completion",
        "--help",
    ]
)


def words_of(command: str, changed: Mapping[str, str]) -> list[str]:
    """Return the words of a command line, some of its values changed."""
    given = {**LINES[command], **changed}
    options = [f"{name}={value}" for name, value in given.items() if name.startswith("--")]
    arguments = [value for name, value in given.items() if not name.startswith("--")]
    return [*command.split(" "), *options, *(["--", *arguments] if arguments else [])]


def described() -> Iterator[tuple[str, set[str]]]:
    """Name every command, and what of it takes a text, as the program describes itself."""
    root: Any = get_command(app)
    for name in root.list_commands(None):
        for full, command in walk(name, root.get_command(None, name)):
            if name != "mcp" and (
                not getattr(command, "commands", None) or command.invoke_without_command
            ):
                places = {
                    p.opts[0] for p in command.params if not getattr(p, "is_flag", False)
                } - _LEFT_OUT
                yield full, places
