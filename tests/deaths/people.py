"""Deaths in what people do: commands, user interfaces, and the sweeping behind them."""

import json
from typing import Any

from tests.deaths.case import Case, Command, Upkeep
from tests.deaths.stage import BOT, HUMAN


class AddProject(Command):
    paths = ("aipm_sessions.registry:Registry.add_project",)
    exits = frozenset({4})

    def act(self) -> Any:
        return self.stage.command("project", "add", self.name)

    def look(self) -> Any:
        return self.stage.one("select count(*) from projects where id = ?", self.name)


class AddAgent(Command):
    """Its passkey is shown once; whoever did not see it makes a new one."""

    paths = ("aipm_sessions.registry:Registry.add_agent",)
    done = (1, 1)
    exits = frozenset({4})

    def act(self) -> Any:
        return self.stage.command("agent", "add", self.name, "--project", "p")

    def look(self) -> Any:
        member = "select count(*) from project_agents where agent_id = ?"
        made = self.stage.one("select count(*) from agents where id = ?", self.name)
        return made, self.stage.one(member, self.name)


class AssignAgent(AddAgent):
    paths = ("aipm_sessions.registry:Registry.assign",)

    def prepare(self) -> None:
        self.stage.new_agent(self.name)
        self.stage.change("insert into projects values (?, 'x', null, '')", f"of-{self.name}")

    def act(self) -> Any:
        return self.stage.command("agent", "assign", self.name, "--project", f"of-{self.name}")

    done = (1, 2)


class Rekey(Command):
    paths = ("aipm_sessions.registry:Registry.rekey",)
    done = "changed"

    def prepare(self) -> None:
        self.stage.new_agent(self.name)
        self.before = self._hash()

    def act(self) -> Any:
        return self.stage.command("agent", "rekey", self.name)

    def look(self) -> Any:
        return "changed" if self._hash() != self.before else "as it was"

    def _hash(self) -> Any:
        return self.stage.one("select passkey_hash from agents where id = ?", self.name)


class AddToken(Command):
    paths = ("aipm_sessions.registry:Registry.add_token",)
    repeatable = False

    def prepare(self) -> None:
        self.stage.new_agent(self.name)
        self.stage.change("update agents set kind = 'human' where id = ?", self.name)

    def act(self) -> Any:
        return self.stage.command("token", "create", "--agent", self.name)

    def look(self) -> Any:
        return self.stage.one("select count(*) from ui_tokens where agent_id = ?", self.name)


class RevokeToken(AddToken):
    paths = ("aipm_sessions.registry:Registry.revoke_token",)
    repeatable = True
    exits = frozenset({3, 4})

    def prepare(self) -> None:
        super().prepare()
        made = "insert into ui_tokens values (?, ?, ?, '', 9e9, null)"
        self.stage.change(made, f"tok_{self.name}", self.name, self.name)

    def act(self) -> Any:
        return self.stage.command("token", "revoke", f"tok_{self.name}")

    def look(self) -> Any:
        query = "select count(*) from ui_tokens where agent_id = ? and revoked_at is not null"
        return self.stage.one(query, self.name)


class AddTask(Command):
    paths = ("aipm_tasks.desk:Desk.add",)
    repeatable = False

    def act(self) -> Any:
        return self.stage.command("task", "add", "--project", "p", "--title", self.name)

    def look(self) -> Any:
        return self.stage.one("select count(*) from tasks where title = ?", self.name)


class MoveTask(Command):
    """A person stops an agent: the task and the agent's interrupt change together."""

    paths = ("aipm_tasks.desk:Desk.move",)
    done = ("blocked", 1)
    exits = frozenset({4})

    def prepare(self) -> None:
        work = {"title": self.name, "status": "in_progress"}
        self.task = self.result("a", "create_task", as_="task", title=work["title"])["task"]["id"]
        begun = {"task_id": self.task, "status": "in_progress"}
        self.result("a", "update_task_status", as_="task", **begun)

    def act(self) -> Any:
        return self.stage.command("task", "status", self.task, "blocked")

    def look(self) -> Any:
        told = "select count(*) from notifications where task_id = ? and interrupt = 1"
        status = self.stage.one("select status from tasks where id = ?", self.task)
        return status, self.stage.one(told, self.task)


class ApproveRequest(Command):
    paths = ("aipm_tasks.requests:Requests.answer",)
    done = "approved"
    exits = frozenset({3, 4})

    def prepare(self) -> None:
        self.agent("a")
        ask = f"@@create-task: {self.name}"
        self.result("b", "send_message", target_agent_id=self.id("a"), content=ask)
        self.result("a", "get_pending_messages")
        self.task = self.result("a", "request_task", title=self.name)["task_id"]

    def act(self) -> Any:
        return self.stage.command("approve", self.task)

    def look(self) -> Any:
        return self.stage.one("select approval_status from tasks where id = ?", self.task)


class Notify(Command):
    paths = ("aipm_notifications.sender:Sender.send",)
    repeatable = False

    def prepare(self) -> None:
        self.agent("a")

    def act(self) -> Any:
        about = ("--project", "p", "--type", "message", "--message", "hi")
        return self.stage.command("notify", self.id("a"), *about)

    def look(self) -> Any:
        return self.stage.one("select count(*) from notifications where agent_id = ?", self.id("a"))


class Announce(Command):
    paths = ("aipm_core.events:EventLog.publish",)
    repeatable = False

    def act(self) -> Any:
        return self.stage.command("announce", self.name)

    def look(self) -> Any:
        return self.stage.one(
            "select count(*) from events where stream = '' and payload like ?", f"%{self.name}%"
        )


class Claim(Command):
    """Two supervisors never start the same session, whatever one of them missed."""

    paths = ("aipm_sessions.roster:Roster.wait.<locals>.look",)

    def prepare(self) -> None:
        self.stage.new_agent(self.name)
        self.task = json.loads(
            self.stage.command(
                *("task", "add", "--project", "p", "--title", self.name),
                *("--assignee", self.name, "--status", "in_progress"),
            ).stdout
        )["data"]["id"]

    def act(self) -> Any:
        return self.stage.command("work", "--claim", "--supervisor", "s", "--wait", "1")

    def look(self) -> Any:
        return self.stage.one("select count(*) from work_claims where agent_id = ?", self.name)

    def check(self) -> None:
        self.stage.change("update tasks set status = 'done' where id = ?", self.task)


class ClaimEnded(Claim):
    paths = ("aipm_sessions.claims:Claims.end",)
    done = 0
    exits = frozenset({3})

    def prepare(self) -> None:
        super().prepare()
        super().act()
        query = "select id from work_claims where agent_id = ?"
        self.claim = self.stage.one(query, self.name)

    def act(self) -> Any:
        return self.stage.command("work", "--ended", self.claim)


class RevokeGrant(Command):
    paths = ("aipm_policy.grants:Grants.revoke",)
    exits = frozenset({3, 4})

    def prepare(self) -> None:
        given = "insert into policy_grants values (?, 'x', 'p', ?, null, null, ?, '', 9e9, null)"
        self.stage.change(given, f"grt_{self.name}", BOT, HUMAN)

    def act(self) -> Any:
        return self.stage.command("policy", "revoke", f"grt_{self.name}")

    def look(self) -> Any:
        query = "select count(*) from policy_grants where id = ? and revoked_at is not null"
        return self.stage.one(query, f"grt_{self.name}")


class GiveCommand(Case):
    """The same command id has one effect and one ack, also after a restart."""

    paths = ("aipm_ui_gateway.dispatch:Dispatch._carry_out",)

    def prepare(self) -> None:
        self.agent("a")

    def act(self) -> Any:
        opening = {"projectId": "p", "agentId": self.id("a")}
        order = {"id": self.name, "type": "openSession", "payload": opening}
        answer = self.stage.http("POST", "/commands", order)
        assert answer["type"] == "ack", answer
        return answer

    def look(self) -> Any:
        return self.stage.one("select count(*) from ui_sessions where agent_id = ?", self.id("a"))

    def check(self) -> None:
        session = self.stage.one("select id from ui_sessions where agent_id = ?", self.id("a"))
        assert self.act()["sessionId"] == session


class AgUiRun(Case):
    """The same run again is told again, from its beginning; its input counts once."""

    paths = (
        "aipm_ui_gateway.threads:Threads.open",
        "aipm_ui_gateway.dispatch:Dispatch._carry_out",
    )

    def act(self) -> Any:
        message = {"id": f"m-{self.name}", "role": "user", "content": "hello"}
        told = self.stage.http(
            "POST",
            f"/ag-ui/p/{BOT}",
            {"threadId": self.name, "runId": f"r-{self.name}", "messages": [message]}
            | {"state": {}, "tools": [], "context": [], "forwardedProps": {}},
        )
        return None if "RUN_FINISHED" not in str(told) else {"told": told}

    def look(self) -> Any:
        if "open" in self.path.function:
            return self.stage.one("select count(*) from ui_threads where thread_id = ?", self.name)
        begun = "select count(*) from ui_threads where thread_id = ? and run_id = ?"
        return self.stage.one(begun, self.name, f"r-{self.name}")

    def recover(self, *, done: bool) -> None:
        told = self.act()
        assert told, "the run was not told to its end"

    def check(self) -> None:
        session = "select session_id from ui_threads where thread_id = ?"
        inputs = f"select count(*) from agent_inputs where session_id = ({session})"
        assert self.stage.one(inputs, self.name) == 1


class CommandsForgotten(Upkeep):
    paths = ("aipm_ui_gateway.sweeper:Sweeper.sweep",)
    done = 0

    def prepare(self) -> None:
        self.stage.stop()
        old = "insert into ui_commands values (?, ?, '', '{}', 1)"
        self.stage.change(old, HUMAN, self.name)

    def act(self) -> Any:
        self.stage.start_to_die()

    def look(self) -> Any:
        return self.stage.one("select count(*) from ui_commands where id = ?", self.name)


class EventsForgotten(CommandsForgotten):
    paths = ("aipm_core.events:EventLog.sweep",)

    def prepare(self) -> None:
        self.stage.stop()
        old = "insert into events (stream, seq, type, payload, created_at) values (?, 1, ?, ?, ?)"
        self.stage.change(old, self.name, "onNoise", "{}", "2000-01-01T00:00:00.000Z")

    def look(self) -> Any:
        return self.stage.one("select count(*) from events where stream = ?", self.name)
