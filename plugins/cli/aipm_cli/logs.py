"""Logs go to stderr, one record a line, with secrets taken out.

What stands in a record may come from anybody, so nothing in it can end its line or command a
terminal. Headers and tool arguments are never logged; other libraries, some of which would, are
heard from warnings upwards only.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aipm_cli.log_settings import Form, Level
from aipm_core import iso, redact, visible

# pydantic tells in its errors what it was given, which is what a caller said.
_INPUT = re.compile(r"input_value=.{0,200}?, input_type=", re.DOTALL)
# Keys of models and the like; libraries put them into their errors.
_KEYS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS")
_SHORTEST = 8  # of a value that is hidden; "1" would hide half the log
_OURS = "aipm_"
# What the HTTP server says of bytes that are no request, with a traceback even. The client is told;
# in a log it would only help somebody to fill the disk.
_SENT_BY_ANYBODY = frozenset(
    {
        "Invalid HTTP request received.",
        "Invalid UTF-8 sequence received from client.",
        "Unsupported upgrade request.",
        "ASGI callable returned without completing handshake.",  # that is: it was refused
    }
)
_CORE = "aipm_core"
_PLAIN = frozenset({"time", "level", "plugin", "incident"})


class Hiding(logging.Formatter):
    """Knows which values must never be told: those of the environment's secrets, and more."""

    def __init__(self) -> None:
        super().__init__()
        named = (value for name, value in os.environ.items() if name.upper().endswith(_KEYS))
        self.secrets = {value for value in named if len(value) >= _SHORTEST}
        self.redact: Callable[[str], str] = redact

    def hide(self, text: str) -> str:
        """Take out what must not be told."""
        for secret in self.secrets:
            text = text.replace(secret, "[redacted]")
        return _INPUT.sub("input_value=[hidden], input_type=", self.redact(redact(text)))


class Redacting(Hiding):
    """For people: one line a record; a traceback stands below it, marked as such."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one record."""
        head = f"{iso(record.created)} {record.levelname} {record.name}"
        lines = [f"{head}: {_one_line(record.getMessage())}"]
        if trace := _traceback(self, record) or record.stack_info:
            lines += [f"  | {line}" for line in visible(trace).split("\n")]
        return self.hide("\n".join(lines))


class JsonLines(Hiding):
    """For machines: one JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one record."""
        fields = {
            "time": iso(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "plugin": _plugin(record),
            "incident": getattr(record, "incident", None),
            "exception": _traceback(self, record),
            "stack": record.stack_info,
        }
        told = {name: value for name, value in fields.items() if value}
        kept = {name: v if name in _PLAIN else self.hide(v) for name, v in told.items()}
        return json.dumps(kept).replace("\x7f", "\\u007f")


_FORMS: dict[Form, type[Hiding]] = {"text": Redacting, "json": JsonLines}


def to_stderr(level: Level = "warning", form: Form = "text") -> None:
    """Send the program's log to stderr; calling it again changes level and form."""
    root = logging.getLogger()
    root.setLevel(level.upper())
    for handler in [h for h in root.handlers if isinstance(h.formatter, tuple(_FORMS.values()))]:
        root.removeHandler(handler)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMS[form]())
    handler.addFilter(_heard)
    root.addHandler(handler)


def hide(secret: str) -> None:
    """Keep a value out of the log from now on, whatever its variable is called."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, Hiding) and len(secret) >= _SHORTEST:
            handler.formatter.secrets.add(secret)


@contextmanager
def redacting(hide: Callable[[str], str]) -> Iterator[None]:
    """Let a function take more out of the log while the block runs."""
    formatters = [h.formatter for h in logging.getLogger().handlers]
    ours = [formatter for formatter in formatters if isinstance(formatter, Hiding)]
    for formatter in ours:
        formatter.redact = hide
    try:
        yield
    finally:
        for formatter in ours:
            formatter.redact = redact


def _heard(record: logging.LogRecord) -> bool:
    if record.name == "uvicorn.error" and record.msg in _SENT_BY_ANYBODY:
        return False
    return record.levelno >= logging.WARNING or record.name.startswith(_OURS)


def _plugin(record: logging.LogRecord) -> str | None:
    """Name the plugin a record is about, or else the one that wrote it."""
    if plugin := getattr(record, "plugin", None):
        return str(plugin)
    package = record.name.partition(".")[0]
    ours = package.startswith(_OURS) and package != _CORE
    return package.removeprefix(_OURS) if ours else None


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str | None:
    return formatter.formatException(record.exc_info) if record.exc_info else None


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "\\n")
