"""Bytes as decisions: one changed byte is one changed decision, and not just noise."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
TEXTS = (
    *("", "a", "agent-a", "p", " ", "\n", "0", "-1", "null", "\x00", "\u202e", "é", "あ", "😀"),
    *("../..", "/etc/passwd", "%s", "{0}", "{field}", "' or 1=1 --", "<b>", "msg_1", "a" * 65),
)
NUMBERS = (
    *(0, 1, -1, 2, 20, 55, 56, 100, 101, 2**31, 2**53, 2**63 - 1, -(2**63), 2**63, 10**30),
    *(0.0, 0.5, 1.0, -1.5, 1e300, True, False, None),
)


class Choices:
    """Reads decisions off bytes; when they are used up, every decision is the plainest."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def byte(self) -> int:
        at = self._at
        if at >= len(self._data):
            return 0
        self._at = at + 1
        return self._data[at]

    def once_in(self, times: int) -> bool:
        return self.byte() % times == times - 1

    def pick(self, options: Sequence[T]) -> T:
        number = self.byte()
        if len(options) > 256:
            number = number * 256 + self.byte()
        return options[number % len(options)]

    def bytes(self, most: int = 32) -> bytes:
        length = self.byte() % (most + 1)
        taken = self._data[self._at : self._at + length]
        self._at += length
        return taken

    def text(self) -> str:
        if self.once_in(3):
            return self.bytes().decode("utf-8", errors="replace")
        return self.pick(TEXTS)

    def value(self, depth: int = 2) -> Any:
        """Make any JSON."""
        kind = self.byte() % (6 if depth else 4)
        if kind < 2:
            return self.text()
        if kind < 4:
            return self.pick(NUMBERS)
        if kind == 4:
            return [self.value(depth - 1) for _ in range(self.byte() % 4)]
        return {self.text(): self.value(depth - 1) for _ in range(self.byte() % 4)}

    def shaped(self, schema: Mapping[str, Any]) -> Any:
        """Make what a JSON Schema asks for, or nearly."""
        if self.once_in(12):
            return self.value()
        if "anyOf" in schema:
            return self.shaped(self.pick(schema["anyOf"]))
        return self.pick(schema["enum"]) if "enum" in schema else self._of_type(schema)

    def _of_type(self, schema: Mapping[str, Any]) -> Any:
        match schema.get("type"):
            case "string":
                return self._string(schema)
            case "integer" | "number":
                edges = [schema.get("minimum", 0), schema.get("maximum", 99)]
                return self.pick([*edges, edges[0] - 1, edges[1] + 1, *NUMBERS])
            case "boolean":
                return not self.once_in(2)
            case "array":
                return [self.shaped(schema.get("items", {})) for _ in range(self.byte() % 4)]
            case "object":
                return self._object(schema)
        return self.value()

    def _string(self, schema: Mapping[str, Any]) -> str:
        most: int | None = schema.get("maxLength")
        if most is not None and self.once_in(8):
            return "x" * (most + self.byte() % 2)
        return self.text()

    def _object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        required = schema.get("required", ())
        made: dict[str, Any] = {}
        for name, inner in schema.get("properties", {}).items():
            if self.once_in(10) if name in required else not self.once_in(3):
                continue
            made[name] = self.shaped(inner)
        if self.once_in(8):
            made[self.text()] = self.value()
        return made
