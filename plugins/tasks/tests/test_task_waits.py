"""A session that waits for something to do, and ends meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest
from aipm_notifications.api import INBOX

Teams = Callable[..., Any]


@pytest.mark.parametrize("purpose", ["task", "chat"])
@pytest.mark.parametrize("reason", ["logout", "completed", "expired", "revoked"])
async def test_a_wait_ends_with_its_session_and_tells_nothing(
    team: Teams, purpose: str, reason: str
) -> None:
    async with team() as t:
        session, inbox = await t.session(purpose=purpose), t.services.use(INBOX)

        async def end_it() -> None:
            await t.close(session, reason)
            await t.add("news", "todo")
            await t.store.write(
                lambda tx: inbox.put(
                    tx,
                    project_id="p",
                    agent_id="worker",
                    type="interrupt",
                    action="cancel",
                    message="stop",
                )
            )

        reply = await t.while_waiting(session, end_it)
        assert reply.error is not None
        assert (reply.error.code, reply.error.status) == ("session_invalid", 401)
        assert (reply.result, reply.fields, reply.replaced) == (None, {}, None)
        assert await t.bound(session) is None


async def test_a_session_that_ends_by_itself_ends_its_wait(team: Teams) -> None:
    async with team() as t:
        session = await t.session()

        async def let_time_pass() -> None:
            t.watch.time += 90_000  # the sweeper ends it

        reply = await t.while_waiting(session, let_time_pass)
        assert reply.error is not None
        assert reply.error.code == "session_invalid"
