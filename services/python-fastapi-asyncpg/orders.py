"""The orders contract: a shop's API."""

from datetime import datetime
from typing import Annotated, Literal

import asyncpg
from fastapi import APIRouter, Header, HTTPException, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from database import Pool

router = APIRouter(prefix="/orders")

# What PostgreSQL's bigint holds.
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Id = Annotated[Number, Path()]
Status = Literal["open", "paid", "shipped", "cancelled"]

TRANSITIONS = {("open", "paid"), ("paid", "shipped"), ("open", "cancelled"), ("paid", "cancelled")}


class Json(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, strict=True)


class NewLine(Json):
    product_id: Number
    quantity: int


class NewOrder(Json):
    customer_id: Number
    # PostgreSQL has no text with NUL.
    note: Annotated[str, Field(pattern=r"^[^\x00]*$")] | None = None
    lines: list[NewLine]


class Change(Json):
    status: Status


class Line(NewLine):
    price_cents: int


class Item(Json):
    id: int
    customer_id: int
    status: Status
    note: str | None
    total_cents: int
    version: int
    created_at: datetime


class Order(Item):
    lines: list[Line]


class Page(Json):
    items: list[Item]
    next: int | None


@router.post("", status_code=201)
async def create_order(new: NewOrder, response: Response, pool: Pool) -> Order:
    async with pool.acquire() as connection, connection.transaction():
        customer = await connection.fetchval("select id from customer where id = $1::bigint", new.customer_id)
        products = await connection.fetch(
            "select id, price_cents from product where id = any($1::bigint[])", [line.product_id for line in new.lines]
        )
        prices = {product["id"]: product["price_cents"] for product in products}
        if errors := list(faults(new, customer is not None, prices)):
            return JSONResponse({"errors": errors}, status_code=422)

        lines = [Line(**line.model_dump(), price_cents=prices[line.product_id]) for line in new.lines]
        order = await connection.fetchrow(
            "insert into orders (customer_id, status, note, total_cents) values ($1, 'open', $2, $3) returning *",
            new.customer_id,
            new.note,
            sum(line.quantity * line.price_cents for line in lines),
        )
        await connection.executemany(
            "insert into order_line (order_id, line, product_id, quantity, price_cents) values ($1, $2, $3, $4, $5)",
            [
                (order["id"], number, line.product_id, line.quantity, line.price_cents)
                for number, line in enumerate(lines, 1)
            ],
        )
    response.headers["Location"] = f"/orders/{order['id']}"
    return Order(**order, lines=lines)


def faults(new: NewOrder, customer_is_known: bool, prices: dict[int, int]):
    """All that is wrong with a new order."""
    if not customer_is_known:
        yield {"field": "customerId", "code": "unknown"}
    if new.note is not None and len(new.note) > 500:
        yield {"field": "note", "code": "length"}
    if not 1 <= len(new.lines) <= 20:
        yield {"field": "lines", "code": "range"}
    for number, line in enumerate(new.lines):
        if line.product_id not in prices:
            yield {"field": f"lines[{number}].productId", "code": "unknown"}
        if not 1 <= line.quantity <= 1000:
            yield {"field": f"lines[{number}].quantity", "code": "range"}


@router.get("/{id}")
async def get_order(id: Id, response: Response, pool: Pool) -> Order:
    order = await find(pool, id)
    response.headers["ETag"] = f'"{order.version}"'
    return order


@router.get("")
async def list_orders(
    pool: Pool,
    customer: Annotated[Number, Query()],
    limit: Annotated[int, Query(ge=1, le=50)] = 20,
    after: Annotated[Number, Query()] = 0,
) -> Page:
    # One more than asked for tells whether there is a next page.
    rows = await pool.fetch(
        "select * from orders where customer_id = $1::bigint and id > $2 order by id limit $3",
        customer,
        after,
        limit + 1,
    )
    items = [Item(**row) for row in rows[:limit]]
    return Page(items=items, next=items[-1].id if len(rows) > limit else None)


@router.patch("/{id}")
async def set_status(
    id: Id, change: Change, response: Response, pool: Pool, if_match: Annotated[str | None, Header()] = None
) -> Order:
    if if_match is None:
        raise HTTPException(428)
    async with pool.acquire() as connection, connection.transaction():
        order = await connection.fetchrow("select status, version from orders where id = $1 for update", id)
        if order is None:
            raise HTTPException(404)
        if if_match != f'"{order["version"]}"':
            raise HTTPException(412)
        if (order["status"], change.status) not in TRANSITIONS:
            raise HTTPException(409)
        await connection.execute("update orders set status = $2, version = version + 1 where id = $1", id, change.status)
        changed = await find(connection, id)
    response.headers["ETag"] = f'"{changed.version}"'
    return changed


@router.delete("/{id}", status_code=204)
async def delete_order(id: Id, pool: Pool) -> None:
    async with pool.acquire() as connection, connection.transaction():
        status = await connection.fetchval("select status from orders where id = $1 for update", id)
        if status is None:
            raise HTTPException(404)
        if status != "open":
            raise HTTPException(409)
        await connection.execute("delete from orders where id = $1", id)


async def find(database: asyncpg.Pool | asyncpg.Connection, id: int) -> Order:
    # In one statement: between two, a deletion would leave an order without lines.
    rows = await database.fetch(
        "select o.*, l.product_id, l.quantity, l.price_cents from orders o join order_line l on l.order_id = o.id"
        " where o.id = $1 order by l.line",
        id,
    )
    if not rows:
        raise HTTPException(404)
    return Order(**rows[0], lines=[Line(**row) for row in rows])
