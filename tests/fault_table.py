"""What may go wrong and what happens then: the rows of docs/faults.md, each held by a test.

``seen`` is asserted by the test of the row; that nothing acknowledged is lost, nothing is doubled
and nothing refused is stored is asserted by all of them (:mod:`tests.sent_messages`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One fault: what a caller sees while it lasts, and how it ends."""

    fault: str
    seen: frozenset[str]
    after: str


def _row(fault: str, seen: str, after: str) -> Row:
    return Row(fault, frozenset(seen.split()), after)


_AT_ONCE = "works again at the next call; nobody has to do anything"
_FILES = "the message is in the store; the files catch up by themselves"

ROWS = {
    "database-full": _row(
        "the disk of the database is full (ENOSPC)",
        "store_unavailable",
        f"{_AT_ONCE}; `/readyz` answers 503 meanwhile",
    ),
    "database-write-error": _row("writing the database fails (EIO)", "store_unavailable", _AT_ONCE),
    "database-sync-error": _row("flushing the database fails (EIO)", "store_unavailable", _AT_ONCE),
    "database-read-error": _row("reading the database fails (EIO)", "store_unavailable", _AT_ONCE),
    "database-read-only": _row(
        "the database turns read-only (EROFS)", "store_unavailable", _AT_ONCE
    ),
    "database-short-writes": _row(
        "the disk takes half of every write to the database", "ok", "nothing to recover from"
    ),
    "chat-full": _row("the disk of the chat files is full (ENOSPC)", "ok", _FILES),
    "chat-write-error": _row("appending to the chat files fails (EIO)", "ok", _FILES),
    "chat-sync-error": _row("flushing the chat files fails (EIO)", "ok", _FILES),
    "chat-short-writes": _row("the disk takes half of every write to the chat files", "ok", _FILES),
    "real-full-disk": _row(
        "a real small file system fills up while the server runs",
        "ok store_unavailable",
        "works again when something is deleted, without a restart",
    ),
    "read-only-directory": _row(
        "the data directory is read-only when the server starts",
        "exit-2",
        "one sentence names the directory; nothing is written",
    ),
    "clock-jumps": _row(
        "the clock jumps two days ahead, then three days back",
        "ok session_invalid",
        "a session whose time is over logs in again; order and read state do not hang on the clock",
    ),
    "clock-back-while-files-fail": _row(
        "the clock jumps back while the chat files cannot be written", "ok", _FILES
    ),
    "damaged-database": _row(
        "the database is overwritten, cut short or changed",
        "exit-2",
        "one sentence; `aipm restore FILE --replace` puts a backup in place and keeps the rest",
    ),
    "torn-log": _row(
        "the server is killed and garbage follows the last entry of the database's log",
        "ok",
        "the next start reads up to the last whole entry",
    ),
    "damaged-chat-files": _row(
        "chat files are overwritten, cut short, deleted or scribbled in",
        "ok",
        "messages go on; `aipm doctor --rebuild-chat` writes the files anew from the store",
    ),
    "two-servers": _row(
        "two servers work on one data directory",
        "ok",
        "nothing to recover from: they share the store and wake each other",
    ),
    "one-of-two-stopped": _row(
        "one of two servers is stopped (SIGSTOP) while it works",
        "ok",
        "the other goes on; the stopped one goes on when it is continued",
    ),
    "lock-held": _row(
        "a stopped process holds the lock of the store",
        "store_unavailable",
        "refused after 20 s, not hung; works again when that process goes on or ends",
    ),
    "killed": _row(
        "kill -9 while every plugin writes",
        "ok gone",
        "the next start has everything that was acknowledged",
    ),
    "killed-inside": _row(
        "kill -9 inside each plugin's writes, before the commit",
        "gone",
        "nothing of the write is there; the caller repeats it, upkeep repeats itself",
    ),
    "killed-committed": _row(
        "kill -9 after the commit of each write, before the reply and before anybody is woken",
        "gone",
        "all of the write is there, once; a repetition with the same key or id does not double it",
    ),
    "killed-told": _row(
        "kill -9 right after the reply to each write",
        "ok gone",
        "files, notices and events that were still to come follow at the next start",
    ),
    "plugin-raises": _row(
        "a plugin raises in the middle of a write",
        "internal_error",
        "its write is taken back; the log has the plugin's name and the number of the reply",
    ),
    "plugin-hangs": _row(
        "a plugin never comes back",
        "internal_error",
        "ended at the deadline of the tool; others are served meanwhile",
    ),
    "plugin-floods": _row("a plugin floods the event log", "ok", "others are served meanwhile"),
    "plugin-huge": _row(
        "a plugin returns 100 MB", "internal_error", "refused at 4 MiB; others are served"
    ),
}


def page() -> str:
    """Write the table as Markdown."""
    lines = [
        "# Faults and what happens then",
        "",
        "Every row is a test that makes the fault happen to the real program",
        "(`tests/test_faults*.py`; `make test` runs a short form, `make test-long` the long one).",
        "In all of them nothing acknowledged is lost, nothing is",
        "doubled, and nothing that was refused is stored. This page is made from",
        "`tests/fault_table.py` by `make docs`.",
        "",
        "| Fault | A caller sees | Lost | Doubled | Afterwards |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {r.fault} | {_shown(r.seen)} | 0 | 0 | {r.after} |" for r in ROWS.values()]
    return "\n".join([*lines, "", *_LIMITS, ""])


_WORDS = {"ok": "success", "gone": "a closed connection", "exit-2": "a start refused (exit 2)"}
_LIMITS = [
    "Not covered: the loss of power. `kill -9` leaves what the kernel has already taken; the store",
    "flushes before it acknowledges (`synchronous = FULL`), which this machine cannot prove.",
    "Known: `get_pending_messages` and `get_notifications` deliver at most once. If the server is",
    "killed after it marked them as read and before the reply is out, the agent does not see them;",
    "people find them with `aipm messages`.",
]


def _shown(seen: frozenset[str]) -> str:
    return ", ".join(_WORDS.get(code, f"`{code}`") for code in sorted(seen, reverse=True))
