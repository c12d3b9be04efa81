"""Requests of JSON-RPC, and the metadata that each has in its body and in its headers."""

import base64
import json

REVISION = "2026-07-28"
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

# The parameter that Mcp-Name repeats.
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Failure(Exception):
    def __init__(self, code, message, data=None):
        self.error = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


def parse(body):
    """A request or a notification, which has no id."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise Failure(PARSE_ERROR, "not JSON") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        raise Failure(INVALID_REQUEST, "not a request of JSON-RPC 2.0")
    if "id" in message and type(message["id"]) not in (int, str):
        raise Failure(INVALID_REQUEST, "an id is an integer or a text")
    return message


def check(message, headers):
    """Compares the metadata of the body with that of the headers."""
    method, params = message["method"], message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get("io.modelcontextprotocol/protocolVersion") if isinstance(meta, dict) else None
    if version is None or not isinstance(meta.get("io.modelcontextprotocol/clientCapabilities"), dict):
        raise Failure(INVALID_PARAMS, "_meta must have protocolVersion and clientCapabilities")
    if headers.get("mcp-protocol-version") != version:
        raise Failure(HEADER_MISMATCH, "MCP-Protocol-Version differs from the body")
    if version != REVISION:
        data = {"supported": [REVISION], "requested": version}
        raise Failure(UNSUPPORTED_VERSION, "unsupported protocol version", data)
    if headers.get("mcp-method") != method:
        raise Failure(HEADER_MISMATCH, "Mcp-Method differs from the body")
    if method in NAMES and decoded(headers.get("mcp-name", "")) != params.get(NAMES[method]):
        raise Failure(HEADER_MISMATCH, "Mcp-Name differs from the body")


def decoded(value):
    """=?base64?…?= is the text in it."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2]).decode()
    except ValueError:
        return value
