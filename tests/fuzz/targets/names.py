"""Ids of projects, agents, tools, plugins and marker words: what they may look like."""

import string
from pathlib import PurePosixPath, PureWindowsPath

from aipm_devkit.scaffold import _NAME as PLUGIN_NAME
from aipm_file_chat.lines import has_file
from aipm_file_chat.safe_paths import ChatPath
from aipm_markers.config import Word
from aipm_sessions.api import check_name, is_name
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from aipm_core import CallError
from aipm_core.pipeline.build import _NAME as TOOL_NAME
from tests.fuzz.target import Target

ENDS = string.ascii_lowercase + string.digits
LETTERS = ENDS + "-_"
FORBIDDEN = "@＠:： \t\n\r\x0b\x0c\x85\xa0\u2003\u2028\u2029\u3000"
RESERVED = ("system", "human", "admin", "root", "all", "me", "aipm")
WORD: TypeAdapter[str] = TypeAdapter(Word)


def read(data: bytes) -> str:
    return data.decode("utf-8", errors="surrogateescape")


def plainly(text: str) -> bool:
    """The rule of the contract, letter by letter."""
    if not 1 <= len(text) <= 64 or text in RESERVED:
        return False
    if text[0] not in ENDS or text[-1] not in ENDS:
        return False
    return all(letter in LETTERS for letter in text)


def check(text: str) -> None:
    assert is_name(text) == plainly(text) == has_file(text)
    try:
        assert check_name(text, "agent") == text
        assert plainly(text)
    except CallError as error:
        assert (error.code, error.status) == ("invalid_id", 400)
        assert not plainly(text)
        assert str(error).isprintable()
    if plainly(text):
        check_harmless(text)
    check_others(text)


def check_harmless(text: str) -> None:
    """A name is one step of a path, wherever it is used."""
    for flavour in (PurePosixPath, PureWindowsPath):
        assert flavour("/root", text).parent == flavour("/root")
    assert ChatPath("/project", text).shown.split("/")[2:3] == [text]
    assert text.encode("ascii").decode("ascii").casefold() == text


def check_others(text: str) -> None:
    tool = 1 <= len(text) <= 64 and all(c in string.ascii_letters + "0123456789_:-" for c in text)
    assert bool(TOOL_NAME.fullmatch(text)) == tool
    if PLUGIN_NAME.fullmatch(text):
        assert text.replace("-", "_").isidentifier()
    try:
        WORD.validate_python(text)
    except ValidationError:
        return
    assert 1 <= len(text) <= 40
    assert not any(letter in FORBIDDEN for letter in text)


PIECES = (
    *RESERVED,
    "a",
    "-",
    "_",
    ".",
    "/",
    "\\",
    "..",
    "A",
    "é",
    "0",
    "\n",
    "\x00",
    "ａ",
    "ı",
    " ",
)
TARGET = Target[str](
    read=read,
    check=check,
    values=st.text(st.sampled_from(LETTERS), min_size=0, max_size=66)
    | st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=8).map("".join),
    parse=is_name,
    grown={"letters": lambda size: "a" * size, "dashes": lambda size: "a-" * size},
    words=tuple(piece.encode() for piece in PIECES),
    longest=80,
)
