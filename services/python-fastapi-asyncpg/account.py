"""The account contract: bearer tokens, and a cache in front of the database."""

from contextlib import nullcontext
from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Path, Request
from pydantic import BaseModel, Field, ValidationError
from redis.asyncio import Redis

import tokens
from database import Pool

router = APIRouter(prefix="/account")

# Of a cached account, in milliseconds.
LIFETIME = 1000


class Account(BaseModel):
    id: int
    name: str
    balanceCents: int


class Deposit(BaseModel):
    amountCents: int = Field(strict=True, ge=1, le=1_000_000)


def cache(url: str | None):
    return Redis.from_url(url) if url else nullcontext()


def redis(request: Request) -> Redis:
    return request.app.state.cache


Cache = Annotated[Redis, Depends(redis)]


def allowed(id: Annotated[str, Path()], authorization: Annotated[str | None, Header()] = None) -> int:
    """The id of the path, if the token opens it."""
    claims = tokens.claims(authorization)
    if claims is None:
        raise HTTPException(401, headers={"WWW-Authenticate": "Bearer"})
    if not tokens.may(claims, id):
        raise HTTPException(403)
    if not (id.isascii() and id.isdigit() and len(id) < 10):
        raise HTTPException(404)
    return int(id)


Id = Annotated[int, Depends(allowed)]


@router.get("/{id}")
async def get_account(id: Id, pool: Pool, cache: Cache) -> Account:
    cached = await cache.get(f"account:{id}")
    if cached is not None:
        return Account.model_validate_json(cached)
    row = await pool.fetchrow('select id, name, balance_cents as "balanceCents" from account where id = $1', id)
    if row is None:
        raise HTTPException(404)
    account = Account(**row)
    # Not in the place of what a deposit has put there meanwhile.
    await cache.set(f"account:{id}", account.model_dump_json(), px=LIFETIME, nx=True)
    return account


@router.post("/{id}/deposits", status_code=201)
async def deposit(id: Id, request: Request, pool: Pool, cache: Cache) -> Account:
    try:
        amount = Deposit.model_validate_json(await request.body()).amountCents
    except ValidationError as error:
        status = 400 if error.errors()[0]["type"] == "json_invalid" else 422
        raise HTTPException(status) from error
    async with pool.acquire() as connection, connection.transaction():
        row = await connection.fetchrow(
            "update account set balance_cents = balance_cents + $2 where id = $1"
            ' returning id, name, balance_cents as "balanceCents"',
            id,
            amount,
        )
        if row is None:
            raise HTTPException(404)
        account = Account(**row)
        # While the row is locked: deposits arrive in the cache in the order of the database.
        await cache.set(f"account:{id}", account.model_dump_json(), px=LIFETIME)
    return account
