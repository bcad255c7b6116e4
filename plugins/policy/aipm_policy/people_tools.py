"""What people call: the answer to a question, under its name and its command's name."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_ui_gateway.api import ProvideConfirmation
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, Tool
from aipm_policy.answer_notes import PersonsAnswer
from aipm_policy.answers import Answers
from aipm_policy.grants import Scope


class Answer(Arguments):
    """Arguments of ``provide_confirmation``."""

    project_id: str | None = Field(default=None, max_length=64)
    confirmation_id: str = Field(max_length=64)
    approved: bool
    reason: str | None = Field(default=None, max_length=4000)
    note: str | None = Field(default=None, max_length=4000)
    scope: Scope = "once"


class PeoplesTools:
    """The two names are one thing: ``provideConfirmation`` is how user interfaces say it."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        yield Tool(
            name="provide_confirmation",
            run=self._answer,
            arguments=Answer,
            access=Access.PERSON,
            audience="ui",
        )
        yield Tool(
            name="provideConfirmation",
            run=self._command,
            arguments=ProvideConfirmation,
            access=Access.PERSON,
            audience="ui",
        )

    async def _answer(self, call: Call, args: Answer) -> Json:
        await self._answers.provide(call, PersonsAnswer(**dict(args)))
        return {"confirmation_id": args.confirmation_id, "approved": args.approved}

    async def _command(self, call: Call, args: ProvideConfirmation) -> Json:
        answer = PersonsAnswer(
            confirmation_id=args.confirmationId,
            approved=args.approved,
            reason=args.reason,
            scope=args.scope,
        )
        return await self._answers.provide(call, answer)
