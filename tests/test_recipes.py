"""Every recipe of the guide, in one server, does what the guide says."""

import re
from pathlib import Path

import httpx
from aipm_devkit.program import Install

from tests.agents import Agent
from tests.shop import Person

PAGE = Path(__file__).parent.parent / "docs/guides/plugin-recipes.md"
_BLOCK = re.compile(r'^```python title="(\w+\.py)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_the_recipes_work(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    for name, text in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        (plugins / name).write_text(text, encoding="utf-8")
    assert len(list(plugins.iterdir())) == 4
    install = Install.make(tmp_path / "home")
    install.environ["AIPM_PLUGIN_DIR"] = str(plugins)
    install.run("project", "add", "p", "--dir", "work")
    install.run("agent", "add", "mia", "--project", "p", "--type", "human")
    token = install.json("token", "create", "--agent", "mia")["token"]
    with install.up() as server:
        agent, mia = Agent(server.mcp), Person(server.url, token)
        assert agent.result("wait_for_it") == {"steps": 3}
        assert agent.result("ask_tide") == {"asked": 1}
        assert mia.get("/api/harbour") == {"person": "mia"}
        assert httpx.get(f"{server.url}/api/harbour").status_code == 401
        assert mia.call("report_weather", project_id="p", sky="clear") == {"sky": "clear"}
        views = mia.get("/api/projects/p/state")["views"]
        assert views["weather"] == {"sky": {"sky": "clear"}}
    assert server.log == ""
