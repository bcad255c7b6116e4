"""A tool with its owner, ready to be called: what goes in and comes out is checked here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from aipm_core.errors import CallError
from aipm_core.incidents import Broken, report
from aipm_core.models import Json
from aipm_core.pipeline.arguments import TOKEN_ARGUMENT, Parse
from aipm_core.tools import AnyTool

LARGEST_RESULT = 4 * 1024 * 1024


@dataclass(frozen=True)
class Registered:
    """A tool, the plugin that gave it, its check, and the schema callers are shown."""

    plugin: str
    tool: AnyTool
    parse: Parse
    describe: Callable[[], Mapping[str, Json]]

    @cached_property
    def schema(self) -> Mapping[str, Json]:
        """The JSON Schema callers are shown; most commands never ask for it."""
        return self.describe()

    def arguments(self, given: Mapping[str, Json]) -> Any:  # noqa: ANN401
        """Return what ``run`` takes; a check of the plugin's own may fail like its other code."""
        try:
            return self.parse({k: value for k, value in given.items() if k != TOKEN_ARGUMENT})
        except CallError:
            raise
        except Exception as error:
            raise Broken(report(self.plugin, self.tool.name)) from error

    def result(self, value: Json) -> Json:
        """Return a copy of a result, if it is JSON of a bearable size: nobody shares it."""
        try:
            text = orjson.dumps(value)
        except TypeError as error:
            problem = f"returned what is not JSON: {error}"
            raise Broken(report(self.plugin, self.tool.name, problem)) from None
        if len(text) > LARGEST_RESULT:
            problem = f"returned {len(text)} bytes, more than {LARGEST_RESULT}"
            raise Broken(report(self.plugin, self.tool.name, problem))
        return orjson.loads(text)
