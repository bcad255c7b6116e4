"""Signs what is sent, in the form of the Standard Webhooks specification."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode


def signature(secret: str, id_: str, timestamp: str, body: bytes) -> str:
    """Return the value of ``webhook-signature``: HMAC-SHA256 over id, time and body."""
    signed = b".".join((id_.encode(), timestamp.encode(), body))
    return "v1," + b64encode(hmac.digest(secret.encode(), signed, hashlib.sha256)).decode()
