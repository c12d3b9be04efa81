"""A server of the Model Context Protocol with its official SDK for Python."""

import os

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from pydantic import BaseModel

import items

# A bad request is no error of the server: no line for it.
mcp = MCPServer("python-mcp", version="1", log_level="CRITICAL")


class Item(BaseModel):
    id: int
    name: str
    price: int
    tags: list[str]


@mcp.tool()
async def echo(message: str) -> str:
    """Returns the message."""
    return message


@mcp.tool()
async def add(a: int, b: int) -> int:
    """Adds two integers."""
    return a + b


@mcp.tool()
async def item(id: int) -> Item:
    """Looks up an item."""
    found = items.find(id)
    if found is None:
        raise ToolError("no such item")
    return Item(**found)


@mcp.resource("item://{id}", mime_type="text/plain")
async def read_item(id: int) -> str:
    found = items.find(id)
    if found is None:
        raise ResourceNotFoundError("no such item")
    return f"{found['name']} costs {found['price']}"


@mcp.prompt()
async def greet(name: str) -> str:
    return f"Greet {name}."


# It lets only local Origins through, since it listens on a local address.
app = mcp.streamable_http_app(
    json_response=os.environ.get("REPLIES") != "events",
    stateless_http=os.environ.get("SESSIONS") != "true",
)
