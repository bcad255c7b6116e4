"""Lets agents wait for a pipeline of GitLab, and tells them how far it is."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable

from pydantic import Field, SecretStr

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Call,
    CallError,
    Json,
    Plugin,
    PluginConfig,
    hookimpl,
    tool,
)

_OVER = frozenset({"success", "failed", "canceled", "skipped"})


class GitlabConfig(PluginConfig):
    """Settings of ``[plugins.gitlab]``."""

    url: str = "https://gitlab.com"
    token: SecretStr = SecretStr("")
    """Left out: public projects only. Better in ``AIPM_PLUGINS__GITLAB__TOKEN``."""
    look_seconds: float = Field(default=5.0, gt=0)


class Wanted(Arguments):
    """Which pipeline."""

    project: str = Field(min_length=1, max_length=200)
    pipeline: int = Field(ge=1)


class Gitlab(Plugin[GitlabConfig]):
    """Asks GitLab; the waiting ends with the caller."""

    aipm_api = 1
    config_model = GitlabConfig

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.gitlab_wait, access=Access.SESSION, read_only=True, deadline=600.0)

    async def gitlab_wait(self, call: Call, args: Wanted) -> Json:
        """Wait until a pipeline is over; return how it ended."""
        place = f"projects/{urllib.parse.quote(args.project, safe='')}/pipelines/{args.pipeline}"
        while True:
            jobs = await asyncio.to_thread(self._get, f"{place}/jobs")  # urllib blocks
            done = sum(job["status"] in _OVER for job in jobs)
            if call.request.progress is not None:
                await call.request.progress(done, len(jobs), None)
            pipeline = await asyncio.to_thread(self._get, place)
            if pipeline["status"] in _OVER:
                return {"status": pipeline["status"], "jobs": len(jobs)}
            await asyncio.sleep(self.ctx.config.look_seconds)

    def _get(self, path: str) -> Json:
        token = self.ctx.config.token.get_secret_value()
        headers = {"private-token": token} if token else {}
        url = f"{self.ctx.config.url}/api/v4/{path}"
        request = urllib.request.Request(url, headers=headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            error.close()
            raise self._refused(error.code) from None

    def _refused(self, status: int) -> CallError:
        return self.ctx.refuse("gitlab_refused", 502, status=status)
