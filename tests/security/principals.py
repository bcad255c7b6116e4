"""Callers in every state, each with the token it would show."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from itertools import cycle

from tests.agents import Agent
from tests.security.attacked_team import AttackedTeam

# Of a worker's session that fits, cut or filled in by nobody.
_MALFORMED = ("", " ", "aipm_st_", "${AIPM_SESSION_TOKEN}", "null", "Bearer", "\x00", "aipm_st_é")
_USED_UP = frozenset({"logout", "report_completed"})


class Principals:
    """Hands out a caller for a state; what a tool would use up is opened anew."""

    def __init__(self, team: AttackedTeam) -> None:
        self._cast = team
        self._open: dict[tuple[str, str], Agent] = {}
        self._malformed: Iterator[str] = cycle(_MALFORMED)

    def caller(self, state: str, tool: str, purpose: str) -> Agent:
        """Return who calls in this state; ``purpose`` is the one that would fit the tool."""
        mcp = self._cast.server.mcp
        simple = {
            "nobody": None,
            "unknown": f"aipm_st_{secrets.token_urlsafe(32)}",
            "passkey": self._cast.passkeys["ann"],
            "ui-token": self._cast.tokens["mia"],
        }
        if state in simple:
            return Agent(mcp, simple[state])
        if state == "malformed":
            cut = self.session("ann", purpose, tool).token or ""
            return Agent(mcp, next(self._malformed) or cut[:-1])
        if state == "two":
            header = {"authorization": f"Bearer {self.session('bob', purpose, tool).token}"}
            return Agent(mcp, self.session("ann", purpose, tool).token, **header)
        if state in ("expired", "left", "revoked", "completed"):
            return self._ended(state, tool, purpose)
        return self._living(state, tool, purpose)

    def session(self, agent_id: str, purpose: str, tool: str = "") -> Agent:
        """Return an open session of an agent."""
        key = (agent_id, purpose)
        if key not in self._open:
            self._open[key] = self._cast.session(agent_id, purpose)
        return self._open[key] if tool not in _USED_UP else self._cast.session(agent_id, purpose)

    def _living(self, state: str, tool: str, purpose: str) -> Agent:
        if state == "interrupted":
            at_work = self._interrupted
            return at_work if tool == "report_completed" else self.session("ivy", purpose, tool)
        if state in ("beside", "elsewhere"):
            return self.session({"beside": "mona", "elsewhere": "quinn"}[state], purpose, tool)
        agent, _, kind = state.rpartition("-")
        made = self.session(agent or "ann", kind, tool)
        if tool == "report_completed" and kind == "task":
            self.busy(made, agent or "ann")
        return made

    def busy(self, session: Agent, agent_id: str) -> str:
        """Give a task session a task to work on."""
        task_id = str(session.result("create_task", title=f"of {agent_id}")["task"]["id"])
        session.result("update_task_status", task_id=task_id, status="in_progress")
        return task_id

    def _ended(self, state: str, tool: str, purpose: str) -> Agent:
        key = (state, purpose)
        # Only for a minute may a session that reported its work still log out.
        if key not in self._open or (state == "completed" and tool == "logout"):
            self._open[key] = self._brought_to_end(state, purpose)
        return self._open[key]

    def _brought_to_end(self, state: str, purpose: str) -> Agent:
        if state == "completed":
            made = self._cast.session("cora", "task")
            self.busy(made, "cora")
            made.result("report_completed", result="success")
            return made
        made = self._cast.session("rex" if state == "revoked" else "bob", purpose)
        if state == "left":
            made.result("logout")
        elif state == "expired":
            self._expire()
        else:
            self._cast.passkeys["rex"] = self._cast.install.json("agent", "rekey", "rex")["passkey"]
        return made

    def _expire(self) -> None:
        """Let the time of bob's newest session be over."""
        sql = "update sessions set ends_at = 0 where rowid = (select max(rowid) from sessions)"
        with closing(sqlite3.connect(self._cast.database)) as connection, connection:
            connection.execute(sql)

    @cached_property
    def _interrupted(self) -> Agent:
        """Let ivy work on a task, then interrupt her; nobody ever reads that."""
        at_work = self._cast.session("ivy", "task")
        self.busy(at_work, "ivy")
        words = ("--project", "p", "--type", "interrupt", "--action", "pause")
        self._cast.install.run("notify", "ivy", *words)
        return at_work
