"""Takes a shell's line apart into the commands it would run, as far as that can be known.

The grammar is tree-sitter's. A line it cannot read, or whose commands come from elsewhere (standard
input, a variable), is not ``readable``: then nobody may rely on the parts that were found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from aipm_policy.shell_words import Word, word_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})
WRAPPERS = frozenset(
    (
        *("sudo", "doas", "su", "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf"),
        *("setsid", "xargs", "command", "exec", "builtin", "watch", "parallel", "find", "coproc"),
        *("chroot", "unshare", "flock", "strace", "script"),
    )
)
_WRITES = frozenset({">", ">>", "&>", "&>>", ">|", ">&"})
_LONGEST = 200_000
_DEEPEST = 5


@dataclass(frozen=True, slots=True)
class Part:
    """One command of a line, or (``>`` or ``<`` and its name) one file that it opens."""

    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()
    """Variables that are set for it."""

    @property
    def program(self) -> str:
        """The name of what is run, without its directory."""
        return PurePosixPath(self.words[0].text).name if self.words else ""


@dataclass(frozen=True, slots=True)
class Line:
    """The commands of a line in the order they are met."""

    parts: tuple[Part, ...]
    readable: bool


@lru_cache(maxsize=256)
def read_line(text: str) -> Line:
    """Take a line apart."""
    reading = _Reading()
    reading.script(text, 0)
    return Line(tuple(reading.parts), reading.readable)


@cache
def _parser() -> Parser:
    # Only who has rules for commands pays for the grammar.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


@dataclass
class _Reading:
    parts: list[Part] = field(default_factory=list)
    readable: bool = True

    def script(self, text: str, depth: int) -> None:
        plain = text.replace("\\\n", "")
        strange = any(ord(character) < 32 and character not in "\n\t" for character in plain)  # noqa: PLR2004
        if strange or len(plain) > _LONGEST or depth > _DEEPEST:
            self.readable = False
            return
        tree = _parser().parse(plain.encode(errors="replace"))
        waiting = [tree.root_node]
        while waiting:
            node = waiting.pop()
            self._take(node, depth)
            waiting += reversed(node.children)

    def _take(self, node: Node, depth: int) -> None:
        kind = node.type
        if kind == "ERROR" or node.is_missing:
            self.readable = False
        elif kind == "command":
            self._command(node, depth)
        elif kind in ("declaration_command", "unset_command"):
            self.parts.append(Part(tuple(word_of(child) for child in node.children)))
        elif kind == "variable_assignment" and not _belongs_to_command(node):
            self.parts.append(Part((), (word_of(node),)))
        elif kind == "file_redirect":
            self._redirect(node)
        elif kind == "heredoc_redirect" and _hides_commands(node):
            self.readable = False

    def _command(self, node: Node, depth: int) -> None:
        named = [child for child in node.children if not child.type.endswith("_redirect")]
        sets = tuple(word_of(one) for one in named if one.type == "variable_assignment")
        words = tuple(word_of(one) for one in named if one.type != "variable_assignment")
        part = Part(words, sets)
        if not self._scripts(part, depth):
            self.parts.append(part)

    def _scripts(self, part: Part, depth: int) -> bool:
        """Read the scripts inside a command; return whether there is nothing else to it."""
        words, wrapped = part.words, part.program in WRAPPERS
        if part.program in ("eval", "trap"):
            self._nested(words[1:] if part.program == "eval" else words[1:2], depth)
            return part.program == "eval" and not part.assignments
        for place, word in enumerate(words):
            if PurePosixPath(word.text).name in SHELLS and (place == 0 or wrapped):
                only = self._shell(words[place + 1 :], depth)
                return only and place == 0 and not part.assignments
        return False

    def _shell(self, words: tuple[Word, ...], depth: int) -> bool:
        """Read what a shell is told; return whether that is one script and nothing more."""
        for place, word in enumerate(words):
            if word.text.startswith("-") and not word.text.startswith("--") and "c" in word.text:
                self._nested(words[place + 1 : place + 2], depth)
                return place == 0 and len(words) == 2  # noqa: PLR2004 - the option and the script
            if not word.text.startswith("-"):
                return False  # a file: what is in it cannot be seen
        self.readable = False
        return False

    def _nested(self, words: tuple[Word, ...], depth: int) -> None:
        if words and all(word.sure for word in words):
            self.script(" ".join(word.text for word in words), depth + 1)
        else:
            self.readable = False

    def _redirect(self, node: Node) -> None:
        kinds = [child.type for child in node.children]
        target = word_of(node.children[-1])
        is_stream = {">&", "<&"}.intersection(kinds) and target.text.strip("-").isdigit()
        if not is_stream and target.text not in ("/dev/null", "/dev/stdout", "/dev/stderr"):
            way = ">" if _WRITES.intersection(kinds) else "<"
            self.parts.append(Part((Word.of(way), target)))


def _belongs_to_command(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type in ("command", "declaration_command")


def _hides_commands(node: Node) -> bool:
    """Return whether a text given to a command has commands in it that the grammar leaves out."""
    start = next((child for child in node.children if child.type == "heredoc_start"), None)
    if start is None or any(mark in (start.text or b"") for mark in (b"'", b'"', b"\\")):
        return False
    return b"`" in (node.text or b"")
