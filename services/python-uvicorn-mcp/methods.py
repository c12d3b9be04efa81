"""What the server offers: three tools, a resource and a prompt."""

import json
import re
from pathlib import Path

import items
from protocol import INVALID_PARAMS, METHOD_NOT_FOUND, REVISION, Failure

TOOLS = json.loads(Path(__file__).with_name("tools.json").read_text())

# A client may keep these results for a minute.
CACHEABLE = {"ttlMs": 60_000, "cacheScope": "public"}


def run(method, params):
    match method:
        case "server/discover":
            return complete(discovery() | CACHEABLE)
        case "tools/list":
            return complete({"tools": TOOLS} | CACHEABLE)
        case "tools/call":
            return complete(call_tool(params.get("name"), arguments(params)))
        case "resources/read":
            return complete({"contents": [resource(params.get("uri"))]} | CACHEABLE)
        case "prompts/get":
            return complete(prompt(params.get("name"), arguments(params)))
        case _:
            raise Failure(METHOD_NOT_FOUND, f"unknown method {method}")


def arguments(params):
    given = params.get("arguments", {})
    if not isinstance(given, dict):
        raise Failure(INVALID_PARAMS, "arguments must be an object")
    return given


def complete(result):
    return {"resultType": "complete"} | result


def discovery():
    return {
        "supportedVersions": [REVISION],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "python-uvicorn-mcp", "version": "1"}},
    }


def call_tool(name, given):
    match name, given:
        case "echo", {"message": str(message)}:
            return text(message)
        case "add", {"a": a, "b": b} if type(a) is int and type(b) is int:
            return text(str(a + b))
        case "item", {"id": id} if type(id) is int and (item := items.find(id)):
            return text(json.dumps(item)) | {"structuredContent": item}
        case ("echo" | "add" | "item"), _:
            return text(f"wrong arguments of {name}") | {"isError": True}
        case _:
            raise Failure(INVALID_PARAMS, f"unknown tool {name}")


def text(message):
    return {"content": [{"type": "text", "text": message}]}


def resource(uri):
    number = re.fullmatch("item://([0-9]{1,7})", uri) if isinstance(uri, str) else None
    item = items.find(int(number[1])) if number else None
    if item is None:
        raise Failure(INVALID_PARAMS, "unknown resource", {"uri": uri})
    return {"uri": uri, "mimeType": "text/plain", "text": f"{item['name']} costs {item['price']}"}


def prompt(name, given):
    if name != "greet" or not isinstance(given.get("name"), str):
        raise Failure(INVALID_PARAMS, "unknown prompt, or it lacks its argument")
    return {"messages": [{"role": "user", "content": {"type": "text", "text": f"Greet {given['name']}."}}]}
