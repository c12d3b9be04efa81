"""A server of the Model Context Protocol with FastMCP."""

import os

from fastmcp import FastMCP
from fastmcp.exceptions import NotFoundError, ToolError
from pydantic import BaseModel

import items

mcp = FastMCP("python-fastmcp", version="1")


class Item(BaseModel):
    id: int
    name: str
    price: int
    tags: list[str]


@mcp.tool
async def echo(message: str) -> str:
    """Returns the message."""
    return message


@mcp.tool
async def add(a: int, b: int) -> int:
    """Adds two integers."""
    return a + b


@mcp.tool
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
        raise NotFoundError("no such item")
    return f"{found['name']} costs {found['price']}"


@mcp.prompt
async def greet(name: str) -> str:
    return f"Greet {name}."


app = mcp.http_app(
    path="/mcp",
    json_response=os.environ.get("REPLIES") != "events",
    stateless_http=True,
    host_origin_protection=True,  # otherwise every Origin is served
)
