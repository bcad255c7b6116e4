"""A user interface over a real WebSocket."""

import anyio
from aipm_ui_gateway.api import agent_state, new_message
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.testing import served


async def test_a_session_is_opened_and_its_events_arrive_in_order() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        async with connected(stage.ws, ann.token) as ui:
            ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"}, id="c1")
            session = ack["sessionId"]
            assert session.startswith("uis_")
            assert ack["type"] == "ack"
            assert ack["id"] == "c1"
            await stage.publish(agent_state(session, "thinking"), new_message(session, "やあ"))
            with anyio.fail_after(5):
                one, two = await ui.event(), await ui.event()
            assert set(one) == {"id", "seq", "type", "timestamp", "scope", "payload"}
            assert (one["seq"], one["type"], one["scope"]) == (1, "onAgentStateChange", "session")
            assert one["payload"] == {"state": "thinking", "sessionId": session}
            assert two["payload"]["content"] == "やあ"
            assert two["payload"]["metadata"] == {"source_documents": []}
