"""Idle connections: the client closes first, or a request sent at that moment would be lost."""

from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.fault_team import Team

LONGER_THAN_MANY_CLIENTS = 6  # seconds: httpx and undici keep idle connections for 5 and 4


def test_the_server_does_not_close_a_connection_that_a_client_still_keeps(us: Team) -> None:
    with us.install.up() as server:
        connection = HTTPConnection(urlsplit(server.url).netloc)
        connection.request("GET", "/healthz")
        assert connection.getresponse().read()
        connection.sock.settimeout(LONGER_THAN_MANY_CLIENTS)
        with pytest.raises(TimeoutError):  # not the end of the stream
            connection.sock.recv(1)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()
