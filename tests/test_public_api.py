"""The public API only grows; what goes or changes is named in the changelog first."""

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
RELEASED = REPOSITORY / "tests/public_api_released.txt"
NOW = REPOSITORY / "tests/public_api.txt"


def lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield every line with its module and the name it is about: ``Tool.deadline`` or ``Tool``."""
    module = name = ""
    for line in text.splitlines():
        if line.startswith("["):
            module = line.strip("[]")
            continue
        own = re.split(r"[(:= ]", line.strip().removeprefix("class "), maxsplit=1)[0]
        name = own if not line.startswith(" ") else name
        yield module, name if own == name else f"{name}.{own}", line


def missing(before: str, after: str) -> dict[str, str]:
    """Return what was there and is not, or is another, by the name a note must have."""
    kept = set(lines(after))
    return {name: line for module, name, line in lines(before) if (module, name, line) not in kept}


def noted(changelog: str) -> str:
    """Return what the changelog says of the next release under Changed, Deprecated and Removed."""
    unreleased = changelog.partition("## Unreleased")[2].partition("\n## ")[0]
    sections = re.split(r"^### ", unreleased, flags=re.MULTILINE)
    return "".join(s for s in sections if s.startswith(("Changed", "Deprecated", "Removed")))


def test_nothing_went_without_a_note() -> None:
    said = noted((REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"))
    gone = missing(RELEASED.read_text(encoding="utf-8"), NOW.read_text(encoding="utf-8"))
    assert {name: line for name, line in gone.items() if f"`{name}`" not in said} == {}


def test_what_goes_or_changes_is_seen_and_what_comes_is_not() -> None:
    before = "[aipm_core]\nclass Tool\n    name: str\n    deadline: float = 5.0\n"
    before += "find(x: int) -> int\n"
    assert missing(before, before + "    more: int = 1\nnew() -> None\n") == {}
    after = "[aipm_core]\nclass Tool\n    name: str\n    deadline: float = 9.0\n"
    assert missing(before, after) == {
        "Tool.deadline": "    deadline: float = 5.0",
        "find": "find(x: int) -> int",
    }


def test_a_note_counts_under_what_changed_only() -> None:
    changelog = "## Unreleased\n### Added\n- `a`\n### Removed\n- `b`\n## 0.1\n### Removed\n- `c`\n"
    said = noted(changelog)
    assert ("`a`" in said, "`b`" in said, "`c`" in said) == (False, True, False)
