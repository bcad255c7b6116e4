"""The JSON body of a request, for every route alike."""

from __future__ import annotations

from typing import Any

from aipm_core import Json
from aipm_http_server.strict_json import BadJson, parse_json


def says_json(scope: Any) -> bool:  # noqa: ANN401
    """Return whether a request says that its body is JSON.

    A form or plain text is what any web page can post.
    """
    kind: bytes = dict(scope["headers"]).get(b"content-type", b"")
    return kind.split(b";")[0].strip().lower() == b"application/json"


async def read_json(receive: Any, *, empty: Json = None) -> Json:  # noqa: ANN401
    """Read a body; ``BadJson`` says what is wrong with it. ``empty`` stands for one without text.

    Its size has been bounded before.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadJson("incomplete")
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return empty if not body and empty is not None else parse_json(body)
