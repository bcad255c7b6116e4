"""Which modules are changed, and which tests must notice."""

from __future__ import annotations

from collections.abc import Mapping

_POLICY = "plugins/policy/tests"
_SESSIONS = "plugins/sessions/tests"
_MARKERS = "plugins/markers/tests"
_UI = "plugins/ui_gateway/tests"
_TASKS = "plugins/tasks/tests"

SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "aipm_core/pipeline/access.py": ("tests/test_pipeline.py",),
    "aipm_core/pipeline/call.py": (
        "tests/test_pipeline.py",
        "tests/test_stages.py",
        f"{_POLICY}/test_ended_sessions.py",
    ),
    "plugins/http_server/aipm_http_server/address.py": ("tests/test_guard.py",),
    "plugins/http_server/aipm_http_server/bearer.py": (
        "tests/test_bearer.py",
        "tests/test_guard.py",
    ),
    "plugins/http_server/aipm_http_server/guard.py": ("tests/test_guard.py",),
    "plugins/delegation/aipm_delegation/separation.py": (
        "plugins/delegation/tests/test_separation.py",
    ),
    "plugins/file_chat/aipm_file_chat/deliveries.py": (
        "plugins/file_chat/tests/test_chat_answers.py",
        f"{_MARKERS}/test_markers.py",
    ),
    "plugins/markers/aipm_markers/grammar.py": (f"{_MARKERS}/test_markers.py",),
    "plugins/markers/aipm_markers/guard.py": (f"{_MARKERS}/test_markers.py",),
    "plugins/notifications/aipm_notifications/notice.py": ("plugins/notifications/tests",),
    "plugins/policy/aipm_policy/arguments.py": (f"{_POLICY}/test_policy_arguments.py",),
    "plugins/policy/aipm_policy/confirmations.py": (
        f"{_POLICY}/test_confirmations.py",
        f"{_POLICY}/test_ended_sessions.py",
    ),
    "plugins/policy/aipm_policy/authorizer.py": (
        f"{_POLICY}/test_confirmations.py",
        f"{_POLICY}/test_ended_sessions.py",
        f"{_POLICY}/test_policy_decisions.py",
    ),
    "plugins/policy/aipm_policy/elicitation.py": (
        f"{_POLICY}/test_elicitation.py",
        f"{_POLICY}/test_confirmations.py",
    ),
    "plugins/policy/aipm_policy/engine.py": (f"{_POLICY}/test_policy_decisions.py",),
    "plugins/policy/aipm_policy/grants.py": (f"{_POLICY}/test_confirmations.py",),
    "plugins/policy/aipm_policy/rules.py": (
        f"{_POLICY}/test_policy_decisions.py",
        f"{_POLICY}/test_policy_arguments.py",
    ),
    "plugins/sessions/aipm_sessions/credentials.py": (f"{_SESSIONS}/test_passkey_queue.py",),
    "plugins/sessions/aipm_sessions/login.py": (
        f"{_SESSIONS}/test_sessions.py",
        f"{_SESSIONS}/test_logins.py",
        f"{_SESSIONS}/test_passkey_queue.py",
    ),
    "plugins/sessions/aipm_sessions/ui_tokens.py": (f"{_SESSIONS}/test_sessions.py",),
    "plugins/sessions/aipm_sessions/passkey_seals.py": (f"{_SESSIONS}/test_passkey_queue.py",),
    "plugins/tasks/aipm_tasks/blocks.py": (f"{_TASKS}/test_task_blocks.py",),
    "plugins/ui_gateway/aipm_ui_gateway/identity.py": (f"{_UI}/test_ui_endpoints.py",),
    "plugins/ui_gateway/aipm_ui_gateway/follow_access.py": (
        f"{_UI}/test_ui_isolation.py",
        f"{_UI}/test_ui_endpoints.py",
    ),
}
