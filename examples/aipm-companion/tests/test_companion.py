import json
from collections.abc import Callable
from typing import Any

import httpx


def test_a_mood_reaches_views_events_and_the_route(aipm_team: Callable[..., Any]) -> None:
    team = aipm_team("worker-1", people=("anna",), toml="[plugins.companion]\n")
    assert team.agent("worker-1").call("set_mood", mood="busy") == {"mood": "busy"}
    anna = {"authorization": f"Bearer {team.person('anna').token}"}
    state = httpx.get(f"{team.url}/api/projects/p/state", headers=anna).json()
    assert state["views"]["companion"] == {"worker-1": {"agent": "worker-1", "mood": "busy"}}
    schema = httpx.get(f"{team.url}/schema/events.json").json()
    assert "mood" in json.dumps(schema["$defs"]["MoodChanged"])
    assert httpx.get(f"{team.url}/api/companion", headers=anna).json() == {"busy": 1}
    assert httpx.get(f"{team.url}/api/companion").status_code == 401
    refused = team.agent("worker-1").envelope("set_mood", mood="sleepy")
    assert refused["error"]["code"] == "invalid_arguments"
