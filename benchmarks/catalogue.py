"""The questions: what is asked, in which unit it is answered, and what would be better."""

from dataclasses import dataclass
from typing import Literal

OURS, FASTMCP, SDK = "aipm", "FastMCP", "MCP SDK"


@dataclass(frozen=True)
class Metric:
    """A number."""

    key: str
    label: str
    unit: str
    better: Literal["more", "less"]
    decimals: int = 0
    least: float = 0  # a smaller difference is not one

    def text(self, value: float) -> str:
        """Show a value with as many digits as it is worth."""
        worth = 0 if value >= 100 else 1 if value >= 10 else 2
        return f"{value:,.{min(worth, self.decimals)}f}{self.unit}"


@dataclass(frozen=True)
class Question:
    """A question; the module ``questions/NAME.py`` measures it."""

    name: str
    title: str
    asks: str
    metrics: tuple[Metric, ...]
    how: str

    def metric(self, key: str) -> Metric:
        """Return one of the metrics."""
        return next(one for one in self.metrics if one.key == key)


RATE = Metric("calls_per_second", "calls a second", "/s", "more", 1)
P50 = Metric("p50_ms", "p50", " ms", "less", 2)
P99 = Metric("p99_ms", "p99", " ms", "less", 1)

QUESTIONS = (
    Question(
        "throughput",
        "Calls a second",
        "How many calls does a server answer?",
        (RATE, P50, P99, Metric("cpu_us", "processor time a call", " µs", "less")),
        "aipm answers `get_my_task`: it finds the session of the token, looks for interrupts, runs "
        "every check and reads the store. The bare servers run a tool that does nothing and know "
        "nobody. agent-mail answers `fetch_inbox`, A2A echoes, task-master answers `next_task`.",
    ),
    Question(
        "messages",
        "Durable messages a second",
        "How many messages are on disk before they are acknowledged?",
        (Metric("calls_per_second", "messages a second", "/s", "more", 1), P50, P99),
        "Durable: aipm's `send_message` (SQLite with `synchronous = FULL`, the chat files of both "
        "agents, a notification for the receiver); the bare servers, with what one writes by hand "
        "(one insert into SQLite with `synchronous = FULL`, nothing else); A2A's `SendMessage` "
        "that becomes a task in `DatabaseTaskStore` on SQLite. Nearly: agent-mail's `send_message` "
        "(SQLite with `synchronous = NORMAL` and a git repository: survives `kill -9`, not the "
        "loss of power). Not: task-master's `set_task_status` (a JSON file, not flushed), every "
        "client with a task of its own. Afterwards the store is counted: whatever was "
        "acknowledged must be in it. A call without an answer counts as failed, and its server "
        "is not asked again with more clients.",
    ),
    Question(
        "wake",
        "Wake latency",
        "How soon does a waiting agent know?",
        (P50, P99),
        "From before the request of the sender to the reply in the hands of the waiting client, "
        "over HTTP. aipm's message or interrupt is on disk by then. The bare servers have no such "
        "thing; theirs is an event in memory, set by one tool and awaited by another: the floor. "
        "agent-mail has no waiting call; its receiver asks again as soon as it is answered. A2A "
        "and task-master have nothing that lets one agent wake another.",
    ),
    Question(
        "start",
        "Cold start",
        "How long from the start of the process to the first answered tool call?",
        (Metric("seconds", "start", " s", "less", 2),),
        "The process is started, and asked until it answers a tool call. Everything has been "
        "started once before, so files are in the page cache and stores exist.",
    ),
    Question(
        "memory",
        "Memory",
        "How much memory does a server take?",
        (Metric("mb", "resident memory", " MB", "less"),),
        "Resident memory of the server and its child processes, after the first answered call and "
        "after 16 clients have called and 4 have sent as fast as they can.",
    ),
    Question(
        "growth",
        "Growth",
        "What does a call cost when a lot is stored?",
        (P50,),
        "The same call with so many messages, notifications and tasks (that many of each) in the "
        "store, all plugins on, inside one process so that HTTP hides nothing. The others are not "
        "here: the bare servers store nothing worth reading, and at agent-mail's rate of sending "
        "a million messages would take a day.",
    ),
    Question(
        "polls",
        "Long polls held",
        "What do agents cost that only wait?",
        (
            Metric("kb_each", "memory of each", " KB", "less", 1),
            Metric("cpu_percent", "processor while they wait", " %", "less", 1, 0.5),
            Metric("wake_ms", "until all are woken", " ms", "less"),
        ),
        "So many clients wait in one server at once, then one event wakes all of them: in aipm an "
        "interrupt from another process, written to disk, in the bare servers an event in memory.",
    ),
)


def find(name: str) -> Question:
    """Return a question by its name."""
    return next(question for question in QUESTIONS if question.name == name)
