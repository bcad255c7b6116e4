"""docs/hooks.md is made from the code and says what the code says."""

from pathlib import Path

from aipm_cli import discovery

from aipm_core.loading.hook_owners import known_hooks

REPOSITORY = Path(__file__).parent.parent


def test_every_hook_has_a_section_and_every_link_a_target() -> None:
    page = (REPOSITORY / "docs/hooks.md").read_text(encoding="utf-8")
    tutorial = (REPOSITORY / "docs/plugin-tutorial.md").read_text(encoding="utf-8")
    plugins = {found.name: found.load() for found in discovery.installed() if found.first_party}
    for hook in known_hooks(plugins):
        assert f"\n## {hook}\n" in page
    headings = {
        line.removeprefix("## ").lower().replace(".", "").replace(" ", "-")
        for line in tutorial.splitlines()
        if line.startswith("## ")
    }
    linked = {part.partition(")")[0] for part in page.split("plugin-tutorial.md#")[1:]}
    assert linked
    assert linked <= headings
