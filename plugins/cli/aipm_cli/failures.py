"""Failures that are nobody's bug: one sentence on stderr and an exit code."""

from __future__ import annotations

import sys

# What a refused call means to a shell: 2 usage, 3 not found, 4 not allowed.
_EXIT_CODES = {400: 2, 401: 4, 403: 4, 404: 3, 409: 4, 429: 4}


def foreseen(error: BaseException) -> tuple[str, int] | None:
    """Return the sentence and the exit code of a failure that was to be expected."""
    from aipm_core import CallError, StartupError, StoreUnavailable

    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]  # task groups wrap what they pass on
    match error:
        case StartupError():
            return str(error), error.exit_code
        case CallError():
            return str(error), _EXIT_CODES.get(error.status, 1)
        case OSError():
            return _of_the_system(error)
    # typer's Abort is not imported for its name
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return "stopped", 130
    if isinstance(error, StoreUnavailable) or type(error).__module__ == "sqlite3":
        return f"the store failed: {error}; `aipm doctor` tells more", 1
    return None


def _of_the_system(error: OSError) -> tuple[str, int] | None:
    if isinstance(error, BrokenPipeError):
        return "nobody reads the output any more", 1
    return (f"{error.filename}: {error.strerror}", 1) if error.filename else None


def fail(sentence: str, code: int) -> int:
    """Print the sentence and return the code."""
    from aipm_core import redact, visible

    sys.stderr.write(f"aipm: {redact(visible(' '.join(sentence.split())))}\n")
    return code
