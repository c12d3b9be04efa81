"""The items of the catalog contract, compressed for who asks for it."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from items import item


class Compressed(APIRoute):
    """With the middleware for these routes alone: it would touch the replies of all others, too."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await GZipMiddleware(super().handle)(scope, receive, send)


router = APIRouter(route_class=Compressed)


class Item(BaseModel):
    id: int
    name: str
    price: int
    tags: list[str]
    description: str


class Items(BaseModel):
    items: list[Item]


@router.get("/catalog")
async def catalog(
    first: Annotated[int, Query(alias="from", ge=1, le=1_000_000)],
    count: Annotated[int, Query(ge=1, le=500)],
) -> Items:
    return Items(items=[Item(**item(i)) for i in range(first, first + count)])
