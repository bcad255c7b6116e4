"""What went wrong with a program, told by the fields it says it in, never by longer texts."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_core import Json
from aipm_runner.api import EndReason
from aipm_runner.drivers.json_rpc import LONGEST_TEXT

_BY_STATUS: dict[int, EndReason] = {
    401: "not_logged_in",
    403: "not_logged_in",
    404: "model_unavailable",
    408: "network",
    413: "context_full",
    429: "quota",
}
_SERVER_ERRORS = 500


def reason_of_status(status: Json) -> EndReason:
    """Return what an HTTP status of the model's server means for a run."""
    if not isinstance(status, int):
        return "process_failed"
    if status >= _SERVER_ERRORS:
        return "network"
    return _BY_STATUS.get(status, "process_failed")


def short(text: Json) -> str | None:
    """Return the first line of a text if it is a message and no essay."""
    if not isinstance(text, str) or not text.strip():
        return None
    return text.strip().splitlines()[0][:LONGEST_TEXT]


def mapping(value: Json) -> Mapping[str, Json]:
    """Return an object as it is, and nothing for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: Json) -> list[Mapping[str, Json]]:
    """Return the objects of a list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def whole(*numbers: Json) -> int:
    """Return the sum of those that are numbers."""
    return sum(int(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool))
