"""A server of the Model Context Protocol, revision 2026-07-28, on uvicorn without an SDK."""

import json
from urllib.parse import urlsplit

import methods
import protocol
from protocol import Failure

LONGEST_BODY = 4 * 1024 * 1024
LOCAL = {"localhost", "127.0.0.1", "::1"}


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    status = refusal(scope, headers)
    if status is None:
        body = await read(receive)
        status, reply = answer(headers, body) if len(body) <= LONGEST_BODY else (413, b"")
    else:
        reply = b""
    kind = [(b"content-type", b"application/json")] if reply else []
    length = [(b"content-length", str(len(reply)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": kind + length})
    await send({"type": "http.response.body", "body": reply})


async def lifespan(receive, send):
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def refusal(scope, headers):
    """The status for a request whose body need not be read."""
    if scope["path"] != "/mcp":
        return 404
    if "origin" in headers and urlsplit(headers["origin"]).hostname not in LOCAL:
        return 403  # only browsers send an Origin
    if scope["method"] != "POST":
        return 405
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return 415
    return None


async def read(receive):
    message = await receive()
    body = message.get("body", b"")
    while message.get("more_body") and len(body) <= LONGEST_BODY:
        message = await receive()
        body += message.get("body", b"")
    return body


def answer(headers, body):
    """Status and body of the reply."""
    reply = {"jsonrpc": "2.0", "id": None}
    try:
        message = protocol.parse(body)
        if "id" not in message:
            return 202, b""  # a notification
        reply["id"] = message["id"]
        protocol.check(message, headers)
        reply["result"] = methods.run(message["method"], message["params"])
        status = 200
    except Failure as failure:
        reply["error"] = failure.error
        status = 404 if failure.error["code"] == protocol.METHOD_NOT_FOUND else 400
    return status, json.dumps(reply, separators=(",", ":")).encode()
