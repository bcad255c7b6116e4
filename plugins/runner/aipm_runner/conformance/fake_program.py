"""Plays an agent's program that fails: ``python -m … PROTOCOL SCENARIO``.

Protocols: ``stream-json`` (Claude Code), ``app-server`` (Codex), ``acp``. Whatever else is on the
command line is ignored, as it is meant for the program whose part this one plays. It does what it
was allowed to do for real: a command makes a file ``ran`` in the working directory.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess  # nosec B404
import sys
import time
from collections.abc import Callable
from pathlib import Path

from aipm_runner.conformance.fake_protocols import PROTOCOLS, Program

LONG_LINE_CHARACTERS = 12_000_000
QUOTED = "You've hit your session limit. Please run /login. " * 20


def use(program: Program, tool: str = "Bash") -> None:
    """Use a tool of its own, if that is allowed."""
    if program.ask(tool, "touch ran"):
        Path("ran").touch()


def quiet(program: Program) -> None:
    """Never answer anything."""
    time.sleep(1000)


def work(program: Program) -> None:
    """Do what a good program does."""
    program.open()
    program.say("working")
    use(program)
    program.say("working")  # the same message once more
    program.end()


def stubborn(program: Program) -> None:
    """Hang after the result, deaf to the end of its input and to SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    program.open()
    program.end()
    time.sleep(1000)


def stalled(program: Program) -> None:
    """Fall silent in the middle of a turn."""
    program.open()
    program.say("working")
    time.sleep(1000)


def two_results(program: Program) -> None:
    """End twice, the second time with an error."""
    program.open()
    program.end()
    program.end("failed")


def orphan(program: Program) -> None:
    """Leave a child behind in a session of its own."""
    program.open()
    subprocess.Popen(["sleep", "1000"], start_new_session=True)  # noqa: S607  # nosec B603 B607
    program.end()


def long_line(program: Program) -> None:
    """Print a line of 12 MB, which is a message as any other."""
    program.open()
    program.say("x" * LONG_LINE_CHARACTERS)
    program.end()


def garbage(program: Program) -> None:
    """Print what is no message, and messages of the wrong shape."""
    program.open()
    for line in ("noise", "[1, 2]", "{", '"x"', "null", "[" * 100_000, '{"id": 7}', "\x00\x1b[0m"):
        program.raw(line)
    for kind in ("assistant", "user", "system", "result?", "control_response"):
        program.send(type=kind, message=3, response=[], method=kind, params="x")
    program.send(method="session/update", params={"update": {"sessionUpdate": "new_kind"}})
    program.send(method="item/completed", params={"item": None})
    program.end()


def quoting(program: Program) -> None:
    """Quote a limit's text in what the model says; that is none."""
    program.open()
    program.say(QUOTED)
    program.end()


def dying(program: Program) -> None:
    """Be killed in the middle of a turn."""
    program.open()
    os.kill(os.getpid(), signal.SIGKILL)


def cut_off(program: Program) -> None:
    """Be killed in the middle of the first turn; then tell which conversation goes on."""
    program.open()
    if not Path("begun").exists():
        Path("begun").touch()
        program.say("working")
        time.sleep(0.5)  # what it is called is known by then
        os.kill(os.getpid(), signal.SIGKILL)
    Path("resumed").write_text(program.resumed, encoding="utf-8")
    program.end()


def forgetful(program: Program) -> None:
    """Be killed like that, and have lost the conversation afterwards."""
    if Path("begun").exists():
        (Path(os.environ["HOME"]) / "conversation").unlink(missing_ok=True)
    cut_off(program)


def used_up(program: Program) -> None:
    """Find its account used up, for a moment; then tell which conversation goes on."""
    program.open()
    if not Path("begun").exists():
        Path("begun").touch()
        program.limit(time.time() + 2)
        program.end("quota")
        return
    Path("resumed").write_text(program.resumed, encoding="utf-8")
    program.end()


def unknown_tool(program: Program) -> None:
    """Ask about a tool that nobody has heard of."""
    program.open()
    use(program, "Teleport")
    program.end()


def telling(program: Program) -> None:
    """Tell what it was given: command line, environment, and who may read its home."""
    program.open()
    home = Path(os.environ["HOME"])
    files = [file for file in sorted(home.rglob("*")) if not file.is_symlink()]
    modes = {str(file.relative_to(home)): oct(file.stat().st_mode)[-3:] for file in files}
    told = {"words": sys.argv, "environment": dict(os.environ), "modes": modes}
    Path("told.json").write_text(json.dumps(told), encoding="utf-8")
    program.end()


def ending(kind: str) -> Callable[[Program], None]:
    """Return a program that ends its turn so."""

    def play(program: Program) -> None:
        program.open()
        if kind == "quota":
            program.limit()
        program.end(kind)

    return play


SCENARIOS: dict[str, Callable[[Program], None]] = {
    **{play.__name__: play for play in (work, quiet, stubborn, stalled, two_results, orphan)},
    **{play.__name__: play for play in (cut_off, forgetful, used_up)},
    **{play.__name__: play for play in (long_line, garbage, quoting, dying, unknown_tool, telling)},
    **{
        kind: ending(kind)
        for kind in (
            "quota",
            "not_logged_in",
            "network",
            "model_unavailable",
            "context_full",
            "failed",
        )
    },
}


def main() -> None:
    """Play one scenario, then wait for the end of the input as a program does."""
    program = PROTOCOLS[sys.argv[1]]()
    SCENARIOS[sys.argv[2]](program)
    program.rest()


if __name__ == "__main__":
    main()
