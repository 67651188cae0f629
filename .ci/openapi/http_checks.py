"""What schemathesis does not send: each request again as HEAD, with a coded body, a header given twice, or trailers."""

import http.client
from urllib.parse import urlsplit

import schemathesis

# Written by the client below, or of one attempt only.
OWN = {"host", "content-length", "connection", "transfer-encoding", "accept-encoding"}


def send(request, method=None, more=(), trailer=b""):
    """Sends a request of schemathesis again, with lines added to its head. Returns status and body."""
    url = urlsplit(request.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    target = url.path + (f"?{url.query}" if url.query else "")
    connection.putrequest(method or request.method, target, skip_accept_encoding=True)
    added = {name.lower() for name, _ in more}
    for name, value in request.headers.items():
        value = value if isinstance(value, bytes) else value.encode("latin-1", "replace")
        if name.lower() not in OWN | added:
            connection.putheader(name, value)
    for name, value in more:
        connection.putheader(name, value)
    body = request.body or b""
    body = body if isinstance(body, bytes) else str(body).encode()
    if trailer:
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders(b"%x\r\n%s\r\n0\r\n%s\r\n\r\n" % (len(body), body, trailer))
    else:
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
    answer = connection.getresponse()
    status, text = answer.status, answer.read()
    connection.close()
    return status, text


def is_overloaded(*statuses):
    return any(status in (429, 503) for status in statuses)


@schemathesis.check
def head_is_get_without_a_body(context, response, case):
    if response.request.method != "GET":
        return
    status, text = send(response.request, method="HEAD")
    if not is_overloaded(status, response.status_code):
        assert status == response.status_code, f"HEAD is a {status}, GET a {response.status_code}"
    assert text == b"", "the answer to a HEAD has a body"


@schemathesis.check
def no_command_reads_one_of_two_values(context, response, case):
    if not response.request.body:
        return
    for twice in (
        [("Content-Encoding", "br")],
        [("Idempotency-Key", "a"), ("Idempotency-Key", "b")],
        [("Content-Type", "application/json"), ("Content-Type", "text/plain")],
    ):
        status, _ = send(response.request, more=twice)
        assert 400 <= status < 500 or is_overloaded(status), f"with {twice} it is a {status}"


@schemathesis.check
def a_body_may_end_with_a_trailer(context, response, case):
    if not response.request.body:
        return
    status, _ = send(response.request, trailer=b"X-Trailer: 1\r\nTransfer-Encoding: x")
    assert status < 500 or is_overloaded(status), f"with a trailer it is a {status}"
