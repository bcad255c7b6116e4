"""A program that is started often: everything is imported once, and each start is a fork.

usage: forking_program.py, then on standard input one line of JSON for each start:
``["runner", "--config", FILE, …]``. It answers with the process id; ``-`` of a start's standard
output goes to the file that ``AIPM_TEST_OUTPUT`` names.
"""

import json
import os
import signal
import sys
from pathlib import Path

from aipm_cli import discovery, main
from aipm_runner import commands


def become(words: list[str]) -> None:
    """Be the program in a process of its own, as a shell would start it."""
    os.setsid()
    with Path(os.environ["AIPM_TEST_OUTPUT"]).open("ab", buffering=0) as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    code = 1
    try:
        code = main(words)
    finally:
        os._exit(code)


def serve() -> None:
    """Fork for every line."""
    assert commands is not None
    for found in discovery.installed():
        if found.name != "clock":
            found.load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    print("ready", flush=True)
    for line in sys.stdin:
        started = os.fork()
        if started == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            become(json.loads(line))
        print(started, flush=True)


if __name__ == "__main__":
    serve()
