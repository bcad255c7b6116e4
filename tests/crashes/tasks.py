"""Crashes in tasks, sessions and notifications, as agents cause them."""

import threading
from typing import Any, ClassVar

from tests.crashes.case import Case, Upkeep


class CreateTask(Case):
    paths = ("aipm_tasks.tools.tasks:TaskTools.create_task",)

    def act(self) -> Any:
        new = {"title": self.name, "idempotency_key": self.name}
        return self.call("a", "create_task", as_="task", **new)

    def look(self) -> Any:
        return self.stage.one("select count(*) from tasks where title = ?", self.name)


class UpdateTask(Case):
    paths = ("aipm_tasks.tools.tasks:TaskTools.update_task_status",)
    done = ("in_progress", 1)
    refusals = frozenset({"invalid_transition"})

    def prepare(self) -> None:
        made = self.result("a", "create_task", as_="task", title=self.name)
        self.task = made["task"]["id"]

    def act(self) -> Any:
        changed = {"task_id": self.task, "status": "in_progress"}
        return self.call("a", "update_task_status", as_="task", **changed)

    def look(self) -> Any:
        told = "select count(*) from task_history where task_id = ? and to_status = 'in_progress'"
        status = self.stage.one("select status from tasks where id = ?", self.task)
        return status, self.stage.one(told, self.task)


class TakeTask(Case):
    """Asking for work binds the session to a task that waits."""

    paths = ("aipm_tasks.next_step:TaskWork._task",)

    def prepare(self) -> None:
        self.agent("a", "task")
        self.task = self.given()

    def given(self) -> str:
        """Have somebody else put a task in the agent's hands."""
        manager = {"title": self.name, "assignee_id": self.id("a")}
        made: str = self.result("m", "create_task", as_="task", **manager)["task"]["id"]
        begun = "update tasks set status = 'in_progress' where id = ?"
        self.stage.change(begun, made)
        return made

    def act(self) -> Any:
        return self.call("a", "get_next_action", as_="task", timeout_seconds=5)

    def look(self) -> Any:
        bound = "select count(*) from task_sessions where task_id = ? and freed_at is null"
        return self.stage.one(bound, self.task)


class ReportCompleted(TakeTask):
    paths = ("aipm_tasks.tools.reporting:Reporting.report_completed",)
    done = "done"
    refusals = frozenset({"session_invalid"})

    def prepare(self) -> None:
        super().prepare()
        assert self.result("a", "get_next_action", as_="task")["action"] == "work"

    def act(self) -> Any:
        return self.call("a", "report_completed", as_="task", result="success")

    def look(self) -> Any:
        return self.stage.one("select status from tasks where id = ?", self.task)


class SilentSessionLosesItsTask(Upkeep, TakeTask):
    paths = ("aipm_tasks.session_watch:SessionWatch._work",)
    done = 0

    def prepare(self) -> None:
        TakeTask.prepare(self)
        assert self.result("a", "get_next_action", as_="task")["action"] == "work"
        self.stage.stop()  # what the server knows of the session's last call is on disk

    def act(self) -> Any:
        silent = "update sessions set last_seen = last_seen - 1000 where agent_id = ?"
        self.stage.change(silent, self.id("a"))
        self.stage.start_to_crash()


class RequestTask(Case):
    """The task, the spent marker and the requester: all of them or none."""

    paths = ("aipm_tasks.tools.requests:RequestTools.request_task",)
    done = (1, 1)
    refusals = frozenset({"marker_already_used"})

    def prepare(self) -> None:
        self.human_says("a", f"@@create-task: {self.name}")

    def act(self) -> Any:
        return self.call("a", "request_task", title=self.name)

    def look(self) -> Any:
        made = self.stage.one("select count(*) from tasks where title = ?", self.name)
        spent = (
            "select count(*) from message_markers where receiver_id = ? and spent_at is not null"
        )
        return made, self.stage.one(spent, self.id("a"))


class DecideRequest(Case):
    paths = ("aipm_tasks.tools.requests:RequestTools._decide",)
    done = "approved"
    refusals = frozenset({"task_request_already_processed"})

    def prepare(self) -> None:
        self.agent("a")
        ask = f"@@create-task: {self.name}"
        self.result("b", "send_message", target_agent_id=self.id("a"), content=ask)
        self.result("a", "get_pending_messages")
        self.task = self.result("a", "request_task", title=self.name)["task_id"]

    def act(self) -> Any:
        return self.call("m", "approve_task_request", task_id=self.task)

    def look(self) -> Any:
        return self.stage.one("select approval_status from tasks where id = ?", self.task)


class AdjustTask(Case):
    paths = ("aipm_tasks.tools.chat:ChatTools.update_task_from_chat",)
    done = ("new words", 1)
    refusals = frozenset({"marker_already_used"})

    def prepare(self) -> None:
        made = self.result("a", "create_task", as_="task", title=self.name)
        self.task = made["task"]["id"]
        self.human_says("a", "@@adjust-task: new words")

    def act(self) -> Any:
        changed = {"task_id": self.task, "description": "new words"}
        return self.call("a", "update_task_from_chat", **changed)

    def look(self) -> Any:
        spent = (
            "select count(*) from message_markers where receiver_id = ? and spent_at is not null"
        )
        words = self.stage.one("select description from tasks where id = ?", self.task)
        return words, self.stage.one(spent, self.id("a"))


class NotifyTask(Case):
    paths = ("aipm_tasks.tools.chat:ChatTools.notify_task_session",)
    done: ClassVar[Any] = (("interrupt", 1),)
    refusals = frozenset({"marker_already_used"})

    def prepare(self) -> None:
        self.agent("a", "task")
        self.human_says("a", "@@notify-task: stop")

    def act(self) -> Any:
        return self.call("a", "notify_task_session", message="stop", priority="high")

    def look(self) -> Any:
        query = "select type, interrupt from notifications where agent_id = ? and audience = 'task'"
        return self.stage.all(query, self.id("a"))

    def check(self) -> None:
        """The task session is stopped, once."""
        assert "replaced" in self.call("a", "get_my_task", as_="task")
        assert len(self.result("a", "get_notifications", as_="task")["notifications"]) == 1
        assert "result" in self.call("a", "get_my_task", as_="task")


class ReadNotifications(NotifyTask):
    paths = ("aipm_notifications.reading:Reading.get_notifications",)
    done: ClassVar[Any] = (0,)

    def prepare(self) -> None:
        super().prepare()
        self.result("a", "notify_task_session", message="stop", priority="high")

    def act(self) -> Any:
        return self.call("a", "get_notifications", as_="task")

    def look(self) -> Any:
        query = "select read_at is null from notifications where agent_id = ? and audience = 'task'"
        return tuple(row[0] for row in self.stage.all(query, self.id("a")))

    def check(self) -> None:
        assert "result" in self.call("a", "get_my_task", as_="task")


class ResultWithheld(Case):
    """An interrupt arrives while a call waits: its result is put away before the reply."""

    paths = ("aipm_notifications.withheld:Withheld.keep",)
    repeatable = False

    def prepare(self) -> None:
        self.agent("a", "task")

    def act(self) -> Any:
        answers: list[Any] = []

        def wait() -> None:
            answers.append(self._attempt())

        waiting = threading.Thread(target=wait)
        waiting.start()
        stop = ("--type", "interrupt", "--action", "pause", "--message", "stop")
        self.stage.command("notify", self.id("a"), "--project", "p", *stop)
        waiting.join()
        return answers[0]

    def _attempt(self) -> Any:
        try:
            return self.call("a", "get_next_action", as_="task", timeout_seconds=50)
        except Exception:  # noqa: BLE001 - killed
            return None

    def look(self) -> Any:
        return self.stage.one(
            "select count(*) from withheld_results where agent_id = ?", self.id("a")
        )

    def recover(self, *, done: bool) -> None:
        """A wait that was cut off has no result to lose; the interrupt itself is still there."""
        assert "replaced" in self.call("a", "get_my_task", as_="task")
        read = self.result("a", "get_notifications", as_="task")
        assert len(read["notifications"]) == 1
        assert len(read["withheld_results"]) == done
        self.done = self.look()  # type: ignore[misc]
        assert self.done == 0


class LogIn(Case):
    """An attempt is counted, then a session opened; a lost answer costs neither for good."""

    paths = ("aipm_sessions.attempts:LoginAttempts.begin", "aipm_sessions.login:Login.authenticate")

    def prepare(self) -> None:
        self.agent("b")
        self.stage.new_agent(self.id("z"))

    def act(self) -> Any:
        who = {"agent_id": self.id("z"), "project_id": "p", "purpose": "chat"}
        return self.stage.call(None, "authenticate", passkey=self.stage.passkey, **who)

    def look(self) -> Any:
        tries = self.stage.one(
            "select count(*) from login_attempts where agent_id = ?", self.id("z")
        )
        opened = self.stage.one("select count(*) from sessions where agent_id = ?", self.id("z"))
        return int(tries + opened > 0)

    def judge(self, moment: str, before: Any, answer: Any) -> None:
        if "authenticate" not in self.path.name:
            super().judge(moment, before, answer)
            return
        opened = self.stage.one("select count(*) from sessions where agent_id = ?", self.id("z"))
        assert opened == (moment != "inside")
        assert self.acknowledged(answer) == (moment == "told")

    def check(self) -> None:
        assert "result" in self.act()


class LogOut(Case):
    paths = ("aipm_sessions.login:Login.logout",)
    refusals = frozenset({"session_invalid"})

    def prepare(self) -> None:
        self.agent("a")

    def act(self) -> Any:
        return self.call("a", "logout")

    def look(self) -> Any:
        return self.stage.one(
            "select ended_at is not null from sessions where agent_id = ?", self.id("a")
        )


class TouchesFlushed(Upkeep):
    """A touch lost in a crash costs a session that much of its idle time, and no more."""

    paths = ("aipm_sessions.session_store:SqlSessionStore._flush",)

    def prepare(self) -> None:
        self.agent("a")
        self.stage.stop()
        earlier = "update sessions set last_seen = last_seen - 100 where agent_id = ?"
        self.stage.change(earlier, self.id("a"))
        self.seen = self.stage.one(
            "select last_seen from sessions where agent_id = ?", self.id("a")
        )

    def act(self) -> Any:
        return self.call("a", "help")

    def look(self) -> Any:
        query = "select last_seen > ? from sessions where agent_id = ?"
        return self.stage.one(query, self.seen, self.id("a"))

    def recover(self, *, done: bool) -> None:
        assert "result" in self.act()
        super().recover(done=done)


class SessionExpires(Upkeep):
    paths = ("aipm_sessions.session_store:SqlSessionStore._sweep",)

    def prepare(self) -> None:
        self.agent("a")
        self.stage.stop()

    def act(self) -> Any:
        self.stage.change("update sessions set last_seen = 1 where agent_id = ?", self.id("a"))
        self.stage.start_to_crash()

    def look(self) -> Any:
        query = "select ended_at is not null from sessions where agent_id = ?"
        return self.stage.one(query, self.id("a"))
