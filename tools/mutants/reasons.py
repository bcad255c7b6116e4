"""Why a mutant may live: changes that make no difference anybody could see."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    'plugins/http_server/aipm_http_server/address.py: path, query = scope.get("raw_path") and '
    'scope["path"].encode(), scope.get("query_string", b"")': (
        "the path is looked at however often it is escaped, so it may as well come unescaped"
    ),
    'plugins/file_chat/aipm_file_chat/deliveries.py: "where d.session_id = ? and d.project_id = ? '
    'and (d.agent_id = ? or 1 = 1)",': "the id of a session is one agent's",
    "plugins/notifications/aipm_notifications/notice.py: ...": (
        "a line of the log: the result is handed over all the same"
    ),
    'plugins/policy/aipm_policy/elicitation.py: if row["status"] == "approved" and '
    'row["expires_at"] < self._ctx.clock():': (
        "the very moment of the end, on one side or the other"
    ),
    "plugins/sessions/aipm_sessions/credentials.py: if not TYPE_CHECKING:": (
        "an import that type checkers want, made by everybody"
    ),
    "plugins/sessions/aipm_sessions/credentials.py: return right or stored is not None": (
        "a passkey that does not fit has raised by then, and nobody without a hash is let in"
    ),
    "plugins/sessions/aipm_sessions/ui_tokens.py: if row is None or self._ctx.clock() > "
    'row["expires_at"]:': "the very moment of the end, on one side or the other",
    "plugins/sessions/aipm_sessions/login.py: ...": "a pause: no test looks at the time",
    "plugins/ui_gateway/aipm_ui_gateway/identity.py: pairs = parse_qsl(text, "
    "keep_blank_values=False)": "a parameter without a value is passed over instead of refused",
    "plugins/ui_gateway/aipm_ui_gateway/identity.py: ...": (
        "the server's guard has refused a token in an address before"
    ),
}
"""By module and changed line."""
