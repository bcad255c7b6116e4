"""What people call: the answer to a question, under its name and its command's name."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_ui_gateway.api import ProvideConfirmation
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, Tool, tool
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


class ProposeInstead(Arguments):
    """Arguments of ``propose_instead``."""

    project_id: str | None = Field(default=None, max_length=64)
    confirmation_id: str = Field(max_length=64)
    arguments: dict[str, Json]
    reason: str | None = Field(default=None, max_length=4000)


class PeoplesTools:
    """Two names are one thing: ``provideConfirmation`` is how user interfaces say it."""

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
        yield tool(self.propose_instead, access=Access.PERSON, audience="ui")

    async def _answer(self, call: Call, args: Answer) -> Json:
        more = await self._answers.provide(call, PersonsAnswer(**dict(args)))
        return {"confirmation_id": args.confirmation_id, "approved": args.approved, **more}

    async def propose_instead(self, call: Call, args: ProposeInstead) -> Json:
        """Say no, and to which arguments one would agree: that call then runs unasked."""
        answer = PersonsAnswer(
            confirmation_id=args.confirmation_id,
            approved=False,
            reason=args.reason,
            instead=args.arguments,
            project_id=args.project_id,
        )
        await self._answers.provide(call, answer)
        return {"confirmation_id": args.confirmation_id, "approved": False}

    async def _command(self, call: Call, args: ProvideConfirmation) -> Json:
        answer = PersonsAnswer(
            confirmation_id=args.confirmationId,
            approved=args.approved,
            reason=args.reason,
            scope=args.scope,
        )
        return await self._answers.provide(call, answer)
