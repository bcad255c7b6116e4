"""The pages of docs/reference/, each made from the code; ``tools.generated`` writes them."""

from collections.abc import Callable, Mapping

from tools.reference import api, commands, errors, events, settings, staircase, tools

WRITERS: Mapping[str, Callable[[], str]] = {
    "reference/api.md": api.write,
    "reference/tools.md": tools.write,
    "reference/errors.md": errors.write,
    "reference/settings.md": settings.write,
    "reference/events.md": events.write,
    "reference/commands.md": commands.write,
    "architecture.md": staircase.write,
}
