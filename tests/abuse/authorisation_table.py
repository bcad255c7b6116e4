"""Who may do what: the rows of docs/authorisation.md, every cell held by a test.

A row for every tool, route and command of the running program, a column for every state a caller
can be in. What is missing here, or is here and nowhere else, fails ``test_authorisation.py``.
"""
# ruff: noqa: E501

TOOL_STATES = {
    "nobody": "no token at all",
    "malformed": "something that is no token: empty, cut short, a place nobody filled in",
    "unknown": "a token of the right form that was never handed out",
    "expired": "the token of a session whose time is over",
    "left": "the token of a session that was logged out",
    "revoked": "the token of a session that ended when its agent got a new passkey",
    "passkey": "the agent's passkey instead of a token",
    "ui-token": "a person's token for user interfaces",
    "two": "two valid tokens that differ, one as argument, one in the header",
    "completed": "the token of a session that has reported its work",
    "interrupted": "a fitting session with an unread interrupt",
    "task": "a worker's task session",
    "chat": "a worker's chat session",
    "boss-task": "a manager's task session",
    "boss-chat": "a manager's chat session",
    "beside": "another agent of the same project, a manager even, with ids that are not its own",
    "elsewhere": "a manager of another project, with ids of this one",
}

WORDS = {
    "ok": "ok",
    "auth": "authentication_required",
    "invalid": "session_invalid",
    "differ": "session_token_mismatch",
    "stop": "replaced",
    "chat!": "chat_session_required",
    "task!": "task_session_required",
    "boss!": "manager_required",
    "none": "tool_not_found",
    "401": "invalid_credentials",
    "not-task": "task_not_found",
    "not-msg": "message_not_found",
    "not-conv": "conversation_not_found",
    "not-dlg": "delegation_not_found",
    "not-mine": "not_your_task",
    "not-part": "not_conversation_participant",
    "not-member": "target_agent_not_in_project",
    "not-above": "approval_not_allowed",
    "no-create": "task_request_marker_required",
    "no-notify": "task_notify_marker_required",
    "no-adjust": "task_adjust_marker_required",
}

TOOLS = """
tool                         | nobody | malformed | unknown | expired | left    | revoked | passkey | ui-token | two    | completed | interrupted | task  | chat  | boss-task | boss-chat | beside    | elsewhere
authenticate                 | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok       | differ | ok        | stop        | ok    | ok    | ok        | ok        | 401       | 401
help                         | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok       | differ | ok        | ok          | ok    | ok    | ok        | ok        | ok        | ok
logout                       | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | ok        | ok          | ok    | ok    | ok        | ok        | ok        | ok
get_next_action              | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | ok    | ok    | ok        | ok        | ok        | ok
get_my_task                  | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | ok    | ok    | ok        | ok        | ok        | ok
list_tasks                   | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | ok    | ok    | ok        | ok        | ok        | ok
create_task                  | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | ok    | task! | ok        | task!     | not-mine  | not-task
update_task_status           | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | ok    | task! | ok        | task!     | not-mine  | not-task
report_completed             | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | ok          | ok    | task! | ok        | task!     | no_task   | no_task
request_task                 | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | ok    | ok    | ok        | ok        | no-create | no-create
approve_task_request         | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | boss! | boss! | ok        | ok        | not-above | not-task
reject_task_request          | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | boss! | boss! | ok        | ok        | not-above | not-task
notify_task_session          | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | no-notify | no-notify
update_task_from_chat        | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | no-adjust | no-adjust
get_notifications            | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | ok          | ok    | ok    | ok        | ok        | ok        | ok
send_message                 | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | ok        | not-member
broadcast_message            | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | ok        | not-member
respond_chat                 | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | not-msg   | not-msg
get_pending_messages         | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | ok        | ok
start_conversation           | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | ok        | not-member
send_conversation_message    | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | not-part  | not-conv
respond_conversation_message | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | not-part  | not-conv
end_conversation             | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | not-part  | not-conv
delegate_to_chat_session     | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | ok    | task! | ok        | task!     | ok        | not-member
get_task_conversations       | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | ok    | task! | ok        | task!     | ok        | ok
report_delegation_completed  | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid  | differ | invalid   | stop        | chat! | ok    | chat!     | ok        | not-dlg   | not-dlg
file:list                    | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
file:read                    | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
shell:execute                | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
"""

DOOR_STATES = {
    "nobody": "no token at all",
    "malformed": "a header that is no bearer token",
    "doubled": "the right token, and the header twice",
    "unknown": "a token of the right form that was never handed out",
    "expired": "a person's token whose time is over",
    "revoked": "a person's token that was revoked",
    "passkey": "a person's passkey instead of a token",
    "session": "the session token of an agent of the project",
    "address": "the right token, but in the address",
    "elsewhere": "a person of another project",
    "beside": "another person of the same project",
    "right": "the person whose session and project it is",
    "host": "the right person, for a Host this server is not",
    "origin": "the right person, from another web page",
}
WORDS |= {
    "ui": "ui_token_required",
    "url": "token_in_url",
    "host": "host_not_allowed",
    "origin": "origin_not_allowed",
    "no-agent": "agent_not_found",
    "no-session": "session_not_found",
    "no-question": "confirmation_not_found",
    "no-project": "project_not_found",
}

DOORS = """
route                                                           | nobody | malformed | doubled | unknown | expired | revoked | passkey | session | address | elsewhere  | beside     | right | host | origin
GET /healthz                                                    | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | ok      | ok         | ok         | ok    | host | origin
GET /readyz                                                     | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | ok      | ok         | ok         | ok    | host | origin
GET /metrics                                                    | auth   | auth      | auth    | auth    | auth    | auth    | auth    | ok      | auth    | ok         | ok         | ok    | host | origin
* /mcp                                                          | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | ok      | ok         | ok         | ok    | host | origin
GET /api/projects/{project_id}/agents/{agent_id}/chat/messages  | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | ui      | no-project | ok         | ok    | host | origin
POST /api/projects/{project_id}/agents/{agent_id}/chat/messages | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | ui      | no-project | ok         | ok    | host | origin
GET /api/projects/{project_id}/agents/{agent_id}/chat/search    | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | ui      | no-project | ok         | ok    | host | origin
WEBSOCKET /ws                                                   | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | ok         | ok         | ok    | host | origin
GET /events                                                     | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-session | no-session | ok    | host | origin
POST /commands                                                  | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-agent   | ok         | ok    | host | origin
GET /schema/events.json                                         | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | ok      | ok         | ok         | ok    | host | origin
POST /ag-ui                                                     | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-session | no-session | ok    | host | origin
POST /ag-ui/{projectId}/{agentId}                               | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-agent   | ok         | ok    | host | origin
"""

COMMAND_STATES = {name: DOOR_STATES[name] for name in ("elsewhere", "beside", "right")}
COMMANDS = """
command             | elsewhere   | beside     | right
openSession         | no-session  | no-session | ok
closeSession        | no-session  | no-session | ok
submitUserInput     | no-session  | no-session | ok
cancelRun           | no-session  | no-session | ok
provideConfirmation | no-question | ok         | ok
"""

LOGINS = """
credentials                                              | outcome
the agent's own passkey                                  | ok
another agent's passkey                                  | 401
the right passkey, for a project the agent is not in     | 401
the right passkey, for a project that does not exist     | 401
the passkey of an agent that does not exist              | 401
the passkey it had before it got a new one               | 401
what is stored of the passkey                            | 401
a session's token                                        | 401
a person's token for user interfaces                     | 401
nothing                                                  | 401
the right passkey, after five wrong ones within a minute | rate_limited
"""

HEADERS = """
token over MCP                                                       | outcome
in the header                                                        | ok
in the header, the scheme in small letters                           | ok
in the header and the same as argument                               | ok
in the header twice                                                  | invalid
in the header twice, and as argument                                 | differ
in the header after an unknown one                                   | invalid
in the header before an unknown one                                  | invalid
an unknown one in the header, the right one as argument              | differ
in the header, without its last character                            | invalid
in the header with the scheme Basic                                  | auth
a place nobody filled in (`${AIPM_SESSION_TOKEN}`) in the header     | auth
a place nobody filled in in the header, the right one as argument    | ok
an empty argument, the right one in the header                       | differ
as argument, but a number                                            | invalid
in the address                                                       | auth
as a cookie                                                          | auth
in `_meta`                                                           | auth
"""

_HEAD = """\
# Who may do what
Every cell is a test: the real server is asked over HTTP, by a caller in that state, with arguments
that would work for the rightful caller (`tests/abuse/test_authorisation*.py`). A refused call is
also shown to have changed nothing that is stored. A tool, route, command or state that has no cell
here fails the build. This page is made from `tests/abuse/authorisation_table.py` by `make docs`.
"""
_TOOLS = """
## Tools
Called over MCP. Tools that only the agent in the server has (`file:read` …) do not exist there.
"""
_HEADERS = """
## Where the token stands
With a worker's session and `get_my_task`.
"""
_DOORS = """
## Routes
*ok* at `/mcp` means that the protocol answers; what a tool then does is in the table above. `/ws` and
`/mcp` belong to no project, so a person of another project may open them, and finds their own there.
"""
_COMMANDS = """
## Commands of people
Given over `POST /commands` and over the WebSocket, with the id of a session (a question) that
belongs to *right*. Everything else about the caller is decided at the door.
"""
_LOGINS = """
## Logging in
One answer for everything that is wrong, so that nobody learns who exists.
"""


def page() -> str:
    """Write the tables as Markdown."""
    parts = [
        _HEAD,
        _TOOLS,
        *(_table(TOOLS), _list(TOOL_STATES)),
        *(_HEADERS, _table(HEADERS)),
        _DOORS,
        *(_table(DOORS), _list(DOOR_STATES)),
        _COMMANDS,
        _table(COMMANDS),
        _LOGINS,
        _table(LOGINS),
        "\n## Words\n",
        _list(
            {word: f"`{code}`" for word, code in WORDS.items() if code not in ("ok", "replaced")}
        ),
        "- *stop*: the whole reply is replaced by the text of the interrupt; the tool did not run\n",
    ]
    return "".join(parts)


def _table(text: str) -> str:
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in text.strip().split("\n")]
    coded = head[0] in ("tool", "route", "command")
    named = [[f"`{row[0]}`" if coded else row[0], *row[1:]] for row in rows]
    lines = [head, ["---"] * len(head), *named]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _list(meanings: dict[str, str]) -> str:
    return "\n" + "".join(f"- *{name}*: {meaning}\n" for name, meaning in meanings.items())
