"""What can be fuzzed: one parser of outside text, and what is promised about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from hypothesis.strategies import SearchStrategy

V = TypeVar("V")


@dataclass(frozen=True, kw_only=True)
class Target(Generic[V]):
    """A parser, the two ways to make inputs for it, and the check of one input.

    ``check`` runs the parser and raises if anything but the promised happens. ``parse`` is the
    parser alone, without the test's own slow second opinion: what ``grown`` makes of larger and
    larger sizes may cost it more and more, but only in proportion.
    """

    read: Callable[[bytes], V]
    """Make an input of the bytes an engine came up with."""
    check: Callable[[V], None]
    values: SearchStrategy[V]
    """Inputs as hypothesis builds them: mostly well-formed, then less so."""
    parse: Callable[[V], object] | None = None
    grown: Mapping[str, Callable[[int], V]] = field(default_factory=dict[str, Callable[[int], V]])
    words: tuple[bytes, ...] = ()
    """Pieces that engines should know: keywords, separators."""
    longest: int = 256

    def take(self, data: bytes) -> None:
        """Check the input that these bytes stand for."""
        self.check(self.read(data))
