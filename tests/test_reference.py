"""docs/reference/ is made from the code and says what the code says."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.security.installed import installed
from tools.reference import WRITERS, errors, refusals, tools
from tools.reference.settings import meanings_of

REPOSITORY = Path(__file__).parent.parent
PAGES = REPOSITORY / "docs" / "reference"


def test_the_folder_holds_these_pages_and_no_others() -> None:
    assert {f"reference/{file.name}" for file in PAGES.iterdir()} == {
        name for name in WRITERS if name.startswith("reference/")
    }


def test_every_tool_that_a_plugin_offers_has_a_section() -> None:
    page = (PAGES / "tools.md").read_text(encoding="utf-8")
    tools = [registered.tool for registered in installed().registered()]
    assert len(tools) > 50
    for tool in tools:
        name = f"{tool.name} (people)" if tool.audience == "ui" else tool.name
        assert f"\n### {name}\n" in page


def test_a_setting_without_a_meaning_stops_the_page() -> None:
    class Silent(BaseModel):
        """Says nothing."""

        told: int = 1
        """This is told."""
        untold: int = 2

    with pytest.raises(SystemExit, match="say below 'untold' what it means"):
        meanings_of(Silent)


def test_a_code_that_is_not_written_out_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "COMPUTED", {})
    refusals.routines.cache_clear()
    with pytest.raises(SystemExit, match="name the codes of"):
        refusals.refusals()
    refusals.routines.cache_clear()


def test_a_text_that_nothing_refuses_with_stops_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_NOT_CODES", {})
    with pytest.raises(SystemExit, match=r"aipm_ui_gateway: .*errors\.resync_required"):
        errors.write()


def test_codes_a_tool_can_reach_are_listed_with_it() -> None:
    page = tools.write()
    section = page.partition("### respond_chat\n")[2].partition("\n### ")[0]
    for code in ("message_not_found", "nothing_to_answer", "content_too_long", "chat_file_unsafe"):
        assert f"`{code}`" in section
    assert "conversation_not_found" not in section
