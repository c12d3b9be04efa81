"""orders, fortunes and account on FastAPI and asyncpg."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

import account
import fortunes
import orders
import settings


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with (
        asyncpg.create_pool(
            settings.DATABASE_URL,
            min_size=settings.CONNECTIONS,
            max_size=settings.CONNECTIONS,
        ) as app.state.pool,
        account.cache(settings.REDIS_URL) as app.state.cache,
    ):
        yield


# Nothing but the contracts: no pages with the documentation.
app = FastAPI(openapi_url=None, lifespan=lifespan)
app.include_router(orders.router)
app.include_router(fortunes.router)
app.include_router(account.router)


@app.exception_handler(RequestValidationError)
async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    return JSONResponse({"detail": "bad request"}, status_code=400)


# What asyncpg raises while the database is away. Its pool connects anew by itself.
@app.exception_handler(OSError)
@app.exception_handler(asyncpg.InterfaceError)
@app.exception_handler(asyncpg.PostgresConnectionError)
@app.exception_handler(asyncpg.OperatorInterventionError)
async def unavailable(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": "the database is away"}, status_code=503)
