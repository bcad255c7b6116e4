"""The hooks this plugin owns."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_core import hookspec
from aipm_sessions.api.decisions import DecisionSource
from aipm_sessions.api.members import AgentFields, ProjectObserver
from aipm_sessions.api.sessions import SessionKeeper, SessionObserver
from aipm_sessions.api.work import Instruction, NeedState, WorkSource


class SessionHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_session_observers(self) -> Iterable[SessionObserver]:
        """What happens in the same transaction when a session opens or closes."""
        return ()

    @hookspec
    def aipm_session_keepers(self) -> Iterable[SessionKeeper]:
        """Sessions of another kind, whose end ends their waits too."""
        return ()

    @hookspec
    def aipm_work_sources(self) -> Iterable[WorkSource]:
        """What ``get_next_action`` gives an agent to do, and who needs a session for it."""
        return ()

    @hookspec
    def aipm_instructions(self) -> Iterable[Instruction]:
        """Standing texts for agents in sessions of one purpose."""
        return ()

    @hookspec
    def aipm_need_states(self) -> Iterable[NeedState]:
        """What becomes of the need for a session, said by whoever starts agents."""
        return ()

    @hookspec
    def aipm_agent_fields(self) -> Iterable[AgentFields]:
        """What other plugins keep of an agent, set together with the agent itself."""
        return ()

    @hookspec
    def aipm_project_observers(self) -> Iterable[ProjectObserver]:
        """What happens in the same transaction when a project moves or somebody leaves it."""
        return ()

    @hookspec
    def aipm_decisions(self) -> Iterable[DecisionSource]:
        """What waits for a person's yes or no."""
        return ()
