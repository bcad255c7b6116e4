"""Reads a tutorial as a reader would carry it out: write files, apply diffs, type commands."""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
Run = Callable[[list[str]], str]


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    file: str | None
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Yield every fenced block; one that nothing could execute is an error."""
    found = [Block(*match.groups()) for match in _FENCE.finditer(page)]
    assert 2 * len(found) == len(re.findall(r"^ *```", page, re.MULTILINE)), "a fence is not read"
    for block in found:
        assert block.file or block.language == "console", f"nothing runs this: {block.text}"
        yield block


def carry_out(block: Block, directory: Path, run: Run) -> None:
    """Do what a block says."""
    if block.file is None:
        _type(block.text, run)
        return
    file = directory / block.file
    file.parent.mkdir(parents=True, exist_ok=True)
    text = _patched(file.read_text("utf-8"), block.text) if block.language == "diff" else block.text
    file.write_text(text, encoding="utf-8")


def _type(text: str, run: Run) -> None:
    printed: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            output = run(shlex.split(line[2:]))
            printed = [shown.rstrip() for shown in output.splitlines()]
        else:
            assert line.rstrip() in printed, f"{line!r} is not in {printed}"


def _patched(text: str, diff: str) -> str:
    for hunk in diff.split("@@\n"):
        lines = [line or " " for line in hunk.splitlines()]
        old = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        assert text.count(old) == 1, f"this stands {text.count(old)} times in the file:\n{old}"
        text = text.replace(old, new)
    return text
