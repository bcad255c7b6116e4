"""Takes out of texts what plugins know to be secret: in replies, events, views and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from aipm_core import Carry, Json, Owned, Reply, Request

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactor:
    """Returns a text without what must not be shown.

    ``hide`` is a plain function that is asked for every text, so it is quick. Where it raises, the
    whole text is hidden.
    """

    name: str
    hide: Callable[[str], str]


class Redaction:
    """Asks every redactor, in plugin order. Whoever has a way out of its own asks it too."""

    def __init__(self, given: Callable[[], tuple[Owned[Redactor], ...]]) -> None:
        self._given = given
        self._failed: set[str] = set()

    @cached_property
    def _all(self) -> tuple[Owned[Redactor], ...]:
        return self._given()

    @property
    def active(self) -> bool:
        """Whether anybody hides anything."""
        return bool(self._all)

    def text(self, text: str) -> str:
        """Return a text as it may be shown."""
        for owned in self._all:
            try:
                text = owned.record.hide(text)
            except Exception:  # noqa: BLE001 - named below
                return self._fail(owned)
            if not isinstance(text, str):
                return self._fail(owned)
        return text

    def json(self, value: Json) -> Json:
        """Return a JSON value as it may be shown, keys included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.json(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(one) for one in value]
        return value

    def wrapping(self, carry: Carry) -> Carry:
        """Hide in every reply, after everybody who adds to it; nothing is done for nobody."""
        if not self.active:
            return carry

        async def redacted(request: Request) -> Reply:
            return self._reply(await carry(request))

        return redacted

    def _reply(self, reply: Reply) -> Reply:
        error = reply.error and replace(reply.error, message=self.text(reply.error.message))
        replaced = None if reply.replaced is None else self.text(reply.replaced)
        fields = self.json(dict(reply.fields))
        result = self.json(reply.result)
        return replace(reply, result=result, error=error, fields=fields, replaced=replaced)

    def _fail(self, owned: Owned[Redactor]) -> str:
        plugin, name = owned.plugin, owned.record.name
        if (key := f"{plugin}:{name}") not in self._failed:
            self._failed.add(key)  # before it is logged: the log asks again
            words, about = "plugin %s: redactor %s failed; its texts are hidden", {"plugin": plugin}
            logger.error(words, plugin, name, extra=about)
        return f"[hidden: {name} of the plugin {plugin} failed]"
