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
    "no-msg": "message_not_found",
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
native:Bash                  | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:Read                  | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:Search                | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:Edit                  | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:Write                 | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:Delete                | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:Move                  | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:WebFetch              | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:WebSearch             | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:Agent                 | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
native:Plan                  | none   | none      | none    | none    | none    | none    | none    | none     | differ | none      | stop        | none  | none  | none      | none      | none      | none
"""

ROUTE_STATES = {
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
    "no-run": "run_not_found",
    "no-question": "confirmation_not_found",
    "no-project": "project_not_found",
    "no-token": "token_not_found",
    "no-git": "no_repository",
    "no-tree": "undo_needs_worktree",
}

ROUTE_TABLE = """
route                                                           | nobody | malformed | doubled | unknown | expired | revoked | passkey | session | address | elsewhere  | beside     | right | host | origin
GET /healthz                                                    | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | url     | ok         | ok         | ok    | host | origin
GET /readyz                                                     | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | url     | ok         | ok         | ok    | host | origin
GET /metrics                                                    | auth   | auth      | auth    | auth    | auth    | auth    | auth    | ok      | url     | ok         | ok         | ok    | host | origin
* /mcp                                                          | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | url     | ok         | ok         | ok    | host | origin
GET /api/projects/{project_id}/agents/{agent_id}/chat/messages  | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-project | ok         | ok    | host | origin
POST /api/projects/{project_id}/agents/{agent_id}/chat/messages | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-project | ok         | ok    | host | origin
GET /api/projects/{project_id}/agents/{agent_id}/chat/search    | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-project | ok         | ok    | host | origin
POST /api/login                                                 | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | url     | ok         | ok         | ok    | host | origin
POST /api/logout                                                | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | ok         | ok         | ok    | host | origin
GET /api/tools                                                  | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | ok         | ok         | ok    | host | origin
POST /api/tools/{name}                                          | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | ok         | ok         | ok    | host | origin
GET /api/openapi.json                                           | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | ok         | ok         | ok    | host | origin
GET /api/runs/{run_id}/log                                      | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-run     | no-run     | no-run | host | origin
GET /api/runs/{run_id}/diff                                     | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-run     | no-run     | no-run | host | origin
POST /api/runner/claim                                          | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-project | ok         | ok    | host | origin
POST /api/runner/watch                                          | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | ok         | ok         | ok    | host | origin
POST /api/runner/runs/{run_id}/session                          | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-run     | no-run     | no-run | host | origin
POST /api/runner/runs/{run_id}/native                           | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-run     | no-run     | no-run | host | origin
POST /api/runner/runs/{run_id}/place                            | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-run     | no-run     | no-run | host | origin
POST /api/runner/runs/{run_id}/reports                          | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | no-run     | no-run     | no-run | host | origin
GET /api/projects                                               | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | ok         | ok         | ok    | host | origin
GET /api/projects/{project_id}/state                            | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-project | ok         | ok    | host | origin
GET /api/projects/{project_id}/stream                           | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-project | ok         | ok    | host | origin
WEBSOCKET /ws                                                   | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | ok         | ok         | ok    | host | origin
GET /events                                                     | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-session | no-session | ok    | host | origin
POST /commands                                                  | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-agent   | ok         | ok    | host | origin
GET /schema/events.json                                         | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | url     | ok         | ok         | ok    | host | origin
POST /ag-ui                                                     | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-session | no-session | ok    | host | origin
POST /ag-ui/{projectId}/{agentId}                               | auth   | invalid   | invalid | invalid | invalid | invalid | invalid | invalid | url     | no-agent   | ok         | ok    | host | origin
GET /                                                           | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | url     | ok         | ok         | ok    | host | origin
GET /ui/{version}/{name:path}                                   | ok     | ok        | ok      | ok      | ok      | ok      | ok      | ok      | url     | ok         | ok         | ok    | host | origin
GET /api/panels                                                 | ui     | ui        | ui      | ui      | ui      | ui      | ui      | ui      | url     | ok         | ok         | ok    | host | origin
"""

PERSON_STATES = {
    **{name: ROUTE_STATES[name] for name in ("nobody", "unknown", "expired", "revoked")},
    **{name: ROUTE_STATES[name] for name in ("passkey", "session")},
    "elsewhere": "a person of another project, a manager even, with ids of this one",
    "person": "a person of the project",
    "manager": "a manager of the project",
}
PEOPLES_TOOLS = """
tool                 | nobody | unknown | expired | revoked | passkey | session | elsewhere   | person | manager
create_project       | auth   | invalid | invalid | invalid | invalid | invalid | ok          | boss!  | ok
edit_project         | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
pause_project        | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
resume_project       | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
archive_project      | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
delete_project       | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
list_projects        | auth   | invalid | invalid | invalid | invalid | invalid | ok          | ok     | ok
list_agents          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
list_sessions        | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
answer_item          | auth   | invalid | invalid | invalid | invalid | invalid | not-above   | ok     | ok
unassign_agent       | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
remove_agent         | auth   | invalid | invalid | invalid | invalid | invalid | no-agent    | boss!  | ok
add_agent            | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
edit_agent           | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
rekey_agent          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
assign_agent         | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
end_session          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
create_token         | auth   | invalid | invalid | invalid | invalid | invalid | no-agent    | boss!  | ok
list_tokens          | auth   | invalid | invalid | invalid | invalid | invalid | no-agent    | boss!  | ok
revoke_token         | auth   | invalid | invalid | invalid | invalid | invalid | no-token    | no-token | ok
create_task          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
edit_task            | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
move_task            | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
assign_task          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
approve_task_request | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
reject_task_request  | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
set_dependencies     | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
reopen_task          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
archive_task         | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
delete_task          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
list_tasks           | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
get_task             | auth   | invalid | invalid | invalid | invalid | invalid | not-task    | ok     | ok
get_status           | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
read_inbox           | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
say                  | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
broadcast            | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
read_messages        | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
search_messages      | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
notify               | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
snooze_item          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
hand_over_item       | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
list_runs            | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
read_run_log         | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
show_run_changes     | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | no-git | no-git
prepare_merge        | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | no-tree
start_run            | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
stop_run             | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
leave_run            | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
undo_run             | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
show_programs        | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
create_login_code    | auth   | invalid | invalid | invalid | invalid | invalid | ok          | ok     | ok
create_agent_token   | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
list_agent_tokens    | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
revoke_agent_token   | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
read_activity        | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
announce             | auth   | invalid | invalid | invalid | invalid | invalid | ok          | boss!  | ok
provide_confirmation | auth   | invalid | invalid | invalid | invalid | invalid | no-question | ok     | ok
provideConfirmation  | auth   | invalid | invalid | invalid | invalid | invalid | no-question | ok     | ok
propose_instead      | auth   | invalid | invalid | invalid | invalid | invalid | no-question | ok     | ok
openSession          | auth   | invalid | invalid | invalid | invalid | invalid | no-agent    | ok     | ok
closeSession         | auth   | invalid | invalid | invalid | invalid | invalid | no-session  | no-session | ok
submitUserInput      | auth   | invalid | invalid | invalid | invalid | invalid | no-session  | no-session | ok
cancelRun            | auth   | invalid | invalid | invalid | invalid | invalid | no-session  | no-session | ok
edit_message         | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | no-msg | ok
withdraw_message     | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | no-msg | ok
list_plugins         | auth   | invalid | invalid | invalid | invalid | invalid | ok          | ok     | ok
check_plugin         | auth   | invalid | invalid | invalid | invalid | invalid | ok          | boss!  | ok
list_rules           | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
list_grants          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
revoke_grant         | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
list_audit           | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
verify_audit         | auth   | invalid | invalid | invalid | invalid | invalid | ok          | boss!  | ok
rehearse_rules       | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
make_rule            | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | boss!  | ok
revoke_rule          | auth   | invalid | invalid | invalid | invalid | invalid | no-project  | ok     | ok
"""

COMMAND_STATES = {name: ROUTE_STATES[name] for name in ("elsewhere", "beside", "right")}
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
in the address                                                       | url
as a cookie                                                          | auth
in `_meta`                                                           | auth
"""

_HEAD = """\
# Who may do what
Every cell is a test: the real server is asked over HTTP, by a caller in that state, with arguments
that would work for the rightful caller (`tests/security/test_authorisation*.py`). A refused call is
also shown to have changed nothing that is stored. A tool, route, command or state that has no cell
here fails the build. This page is made from `tests/security/authorisation_table.py` by `make docs`.
"""
_TOOLS = """
## Tools
Called over MCP. Tools that only the agent in the server has (`file:read` …) or that are
the programs' own (`native:Bash` …) do not exist there.
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
_PEOPLES_TOOLS = """
## Tools of people
Called over `POST /api/tools/{name}`, with ids that *manager* may use: another person's token, a
session of *manager*'s own, everything else of the project.
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
        *(_table(ROUTE_TABLE), _list(ROUTE_STATES)),
        _PEOPLES_TOOLS,
        *(_table(PEOPLES_TOOLS), _list(PERSON_STATES)),
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
