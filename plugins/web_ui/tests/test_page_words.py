"""The page's words: every key that is used exists, and none stands there for nothing."""

import re
import tomllib
from pathlib import Path

from aipm_tasks.transitions import NEXT

HOME = Path(__file__).parent.parent / "aipm_web_ui"
FAMILIES = re.compile(r"`([a-z0-9]+\.[A-Za-z0-9_.]*)\$\{")
SOURCE = "\n".join(
    file.read_text(encoding="utf-8") for file in sorted(HOME.glob("page/js/**/*.js"))
)


def catalogue(locale: str) -> dict[str, str]:
    text = (HOME / "locale" / f"{locale}.toml").read_text(encoding="utf-8")
    words: dict[str, str] = tomllib.loads(text)["page"]
    return words


WORDS = catalogue("ja")
GROUPS = {key.split(".")[0] for key in WORDS}


def used() -> set[str]:
    """Keys that stand as a whole in the code."""
    quoted = re.findall(r"'([a-z0-9]+(?:\.[A-Za-z0-9_]+)+)'", SOURCE)
    return {key for key in quoted if key.split(".")[0] in GROUPS and not key.endswith(".js")}


def families() -> set[str]:
    """Beginnings of keys whose end is a value."""
    return {start for start in FAMILIES.findall(SOURCE) if start.split(".")[0] in GROUPS}


def test_every_key_that_is_used_has_its_words() -> None:
    verbs = {key.removeprefix("ac.v.") for key in WORDS if key.startswith("ac.v.")}
    tool_like = {key for key in used() if key in verbs}
    assert used() - tool_like - set(WORDS) == set()


def test_no_words_stand_there_for_nothing() -> None:
    known = used()
    starts = tuple(families())
    assert [key for key in WORDS if key not in known and not key.startswith(starts)] == []


def test_every_status_has_its_words_in_both_languages() -> None:
    for locale in ("ja", "en"):
        words = catalogue(locale)
        assert {f"st.{status}" for status in NEXT} <= set(words)


def test_the_languages_differ_where_they_should() -> None:
    same = {key for key, words in WORDS.items() if words == catalogue("en")[key]}
    assert same <= {"ac.v.other"}, same
