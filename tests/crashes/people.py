"""Crashes in what people do: commands, user interfaces, and the sweeping behind them."""

import json
from typing import Any

from tests.crashes.case import Case, Command, Upkeep
from tests.crashes.crash_server import BOT, HUMAN


class AddProject(Command):
    paths = ("aipm_core.tools:Call.write",)
    exits = frozenset({4})

    def act(self) -> Any:
        return self.stage.command("project", "add", self.name)

    def look(self) -> Any:
        return self.stage.one("select count(*) from projects where id = ?", self.name)


class AddAgent(Command):
    """Its passkey is shown once; whoever did not see it makes a new one."""

    paths = ("aipm_core.tools:Call.write",)
    done = (1, 1)
    exits = frozenset({4})

    def act(self) -> Any:
        return self.stage.command("agent", "add", self.name, "--project", "p")

    def look(self) -> Any:
        member = "select count(*) from project_agents where agent_id = ?"
        made = self.stage.one("select count(*) from agents where id = ?", self.name)
        return made, self.stage.one(member, self.name)


class AssignAgent(AddAgent):
    paths = ("aipm_core.tools:Call.write",)

    def prepare(self) -> None:
        self.stage.new_agent(self.name)
        self.stage.change(
            "insert into projects (id, name, directory, created_at) values (?, 'x', null, '')",
            f"of-{self.name}",
        )

    def act(self) -> Any:
        return self.stage.command("agent", "assign", self.name, "--project", f"of-{self.name}")

    done = (1, 2)


class Rekey(Command):
    paths = ("aipm_core.tools:Call.write",)
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
    paths = ("aipm_core.tools:Call.write",)
    repeatable = False

    def prepare(self) -> None:
        self.stage.new_agent(self.name)
        self.stage.change("update agents set kind = 'human' where id = ?", self.name)

    def act(self) -> Any:
        return self.stage.command("token", "create", "--agent", self.name)

    def look(self) -> Any:
        return self.stage.one("select count(*) from ui_tokens where agent_id = ?", self.name)


class RevokeToken(AddToken):
    paths = ("aipm_core.tools:Call.write",)
    repeatable = True
    exits = frozenset({3, 4})

    def prepare(self) -> None:
        super().prepare()
        made = (
            "insert into ui_tokens (id, token_hash, agent_id, created_at, expires_at) "
            "values (?, ?, ?, '', 9e9)"
        )
        self.stage.change(made, f"tok_{self.name}", self.name, self.name)

    def act(self) -> Any:
        return self.stage.command("token", "revoke", f"tok_{self.name}")

    def look(self) -> Any:
        query = "select count(*) from ui_tokens where agent_id = ? and revoked_at is not null"
        return self.stage.one(query, self.name)


class AddTask(Command):
    paths = ("aipm_core.tools:Call.write",)
    repeatable = False

    def act(self) -> Any:
        return self.stage.command("task", "add", "--project", "p", "--title", self.name)

    def look(self) -> Any:
        return self.stage.one("select count(*) from tasks where title = ?", self.name)


class MoveTask(Command):
    """A person stops an agent: the task and the agent's interrupt change together."""

    paths = ("aipm_core.tools:Call.write",)
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
    paths = ("aipm_core.tools:Call.write",)
    repeatable = False

    def prepare(self) -> None:
        self.agent("a")

    def act(self) -> Any:
        about = ("--project", "p", "--type", "message", "--message", "hi")
        return self.stage.command("notify", self.id("a"), *about)

    def look(self) -> Any:
        return self.stage.one("select count(*) from notifications where agent_id = ?", self.id("a"))


class Announce(Command):
    paths = ("aipm_core.tools:Call.write",)
    repeatable = False

    def act(self) -> Any:
        return self.stage.command("announce", self.name)

    def look(self) -> Any:
        return self.stage.one(
            "select count(*) from events where stream = '' and payload like ?", f"%{self.name}%"
        )


class Claim(Command):
    """Two supervisors never start the same session, whatever one of them missed."""

    paths = ("aipm_sessions.missing_sessions:SqlMissingSessions.wait.<locals>.look",)

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


class EditAgent(Command):
    paths = ("aipm_core.tools:Call.write",)

    def prepare(self) -> None:
        self.stage.new_agent(self.name)

    def act(self) -> Any:
        return self.stage.command("agent", "edit", self.name, "--role-text", "x")

    def look(self) -> Any:
        return self.stage.one("select count(*) from agent_programs where agent_id = ?", self.name)


class StopRun(Command):
    """One of the changes of a run; the others go the same way."""

    paths = ("aipm_runner.runs:Runs.write",)

    def prepare(self) -> None:
        begun = (
            "insert into runs (id, agent_id, project_id, purpose, program, owner, state, since, "
            "evidence, evidence_at, created_at, ended_at, end_reason, ended_time) "
            "values (?, ?, 'p', 'task', 'x', 'rnr_x', 'ended', '', 'exit', '', '', '2999', "
            "'unknown', 1)"
        )
        self.stage.change(begun, f"run_{self.name}", self.name)

    exits = frozenset({4})

    def act(self) -> Any:
        return self.stage.command("approve", f"run_{self.name}")

    def look(self) -> Any:
        return self.stage.one("select forgiven from runs where id = ?", f"run_{self.name}")


class PauseProject(Command):
    paths = ("aipm_core.tools:Call.write",)

    def prepare(self) -> None:
        made = "insert into projects (id, name, created_at) values (?, 'x', '')"
        self.stage.change(made, self.name)

    def act(self) -> Any:
        return self.stage.command("project", "pause", self.name)

    def look(self) -> Any:
        return self.stage.one("select count(*) from project_pauses where project_id = ?", self.name)


class EndSession(Command):
    paths = ("aipm_core.tools:Call.write",)
    exits = frozenset({3})

    def prepare(self) -> None:
        self.agent("a")
        query = "select id from sessions where agent_id = ?"
        self.session = self.stage.one(query, self.id("a"))

    def act(self) -> Any:
        return self.stage.command("session", "end", self.session)

    def look(self) -> Any:
        query = "select count(*) from sessions where id = ? and ended_at is not null"
        return self.stage.one(query, self.session)


class PersonSays(Case):
    paths = ("aipm_file_chat.people:PeoplesChat.say",)
    repeatable = False

    def prepare(self) -> None:
        self.agent("a")

    def act(self) -> Any:
        address = f"/api/projects/p/agents/{self.id('a')}/chat/messages"
        return self.stage.http("POST", address, {"content": self.name})

    def look(self) -> Any:
        return self.stage.one("select count(*) from messages where content = ?", self.name)


class PersonWithdraws(Command):
    paths = ("aipm_core.tools:Call.write",)
    exits = frozenset({3, 4})

    def prepare(self) -> None:
        self.agent("a")
        given = {"project_id": "p", "agent_id": self.id("a"), "content": self.name}
        said = self.stage.http("POST", "/api/tools/say", given)
        self.message = said["result"]["message_id"]

    def act(self) -> Any:
        return self.stage.command("withdraw", self.message, "--project", "p", "--as", HUMAN)

    def look(self) -> Any:
        query = (
            "select count(*) from messages old join messages new on new.corrects = old.id "
            "where old.id = ? and old.withdrawn_at is not null"
        )
        return self.stage.one(query, self.message)


class PersonEdits(PersonWithdraws):
    paths = ("aipm_core.tools:Call.write",)

    def act(self) -> Any:
        what = ("withdraw", self.message, "--project", "p", "--as", HUMAN)
        return self.stage.command(*what, "--instead", "better")


class PersonLogsIn(Case):
    """A token that nobody saw expires; whoever wants one logs in again."""

    paths = ("aipm_sessions.people_login:PeopleLogin.with_passkey",)
    repeatable = False

    def prepare(self) -> None:
        self.stage.new_agent(self.name)
        self.stage.change("update agents set kind = 'human' where id = ?", self.name)

    def act(self) -> Any:
        login = {"agent_id": self.name, "passkey": self.stage.passkey}
        return self.stage.http("POST", "/api/login", login)

    def look(self) -> Any:
        return self.stage.one("select count(*) from ui_tokens where agent_id = ?", self.name)


class GiveCommand(Case):
    """The same command id has one effect and one ack, also after a restart."""

    paths = ("aipm_sessions.person_calls:OneCall.write",)

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
        "aipm_ui_gateway.ag_ui.threads:Threads.open",
        "aipm_sessions.person_calls:OneCall.write",
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


class EventsForgotten(Upkeep):
    """The first of the tables that are swept; the others go the same way."""

    paths = ("aipm_operations.retention:Sweeper._sweep",)
    done = 0

    def prepare(self) -> None:
        self.stage.stop()
        old = "insert into events (stream, seq, type, payload, created_at) values (?, 1, ?, ?, ?)"
        self.stage.change(old, self.name, "onNoise", "{}", "2000-01-01T00:00:00.000Z")

    def act(self) -> Any:
        self.stage.start_to_crash()

    def look(self) -> Any:
        return self.stage.one("select count(*) from events where stream = ?", self.name)


class ClockNoted(EventsForgotten):
    paths = ("aipm_operations.trusted_time:TrustedTime._note",)
    done = 1

    def prepare(self) -> None:
        self.stage.stop()
        self.stage.change("delete from clock_course")

    def look(self) -> Any:
        return self.stage.one("select count(*) from clock_course")
