"""hello, sequence, snoop, person, catalog, upload, events, echo and room on FastAPI."""

from collections.abc import Iterator
from html import escape
from typing import Annotated

from fastapi import FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse
from starlette.requests import ClientDisconnect

import catalog
import echo
import events
import person
import room
import upload

# Nothing but the contracts: no pages with the documentation.
app = FastAPI(openapi_url=None)
app.include_router(person.router)
app.include_router(catalog.router)
app.include_router(upload.router)
app.include_router(events.router)
app.include_router(echo.router)
app.include_router(room.router)

# An integer from 0 to 10,000.
Length = Annotated[str, Path(pattern="^(10000|[0-9]{1,4})$")]


@app.exception_handler(RequestValidationError)
async def invalid(request: Request, error: RequestValidationError) -> PlainTextResponse:
    return PlainTextResponse("bad request", status_code=400)


@app.exception_handler(ClientDisconnect)
async def gone(request: Request, error: ClientDisconnect) -> Response:
    """Nobody hears it; without it, a client that leaves is a page in the log."""
    return Response(status_code=400)


@app.get("/api/test", response_class=PlainTextResponse)
async def hello() -> str:
    return "Hello, World!"


@app.get("/api/count/{n}", response_class=PlainTextResponse)
async def count(n: Length) -> str:
    return " ".join(map(str, range(1, int(n) + 1)))


@app.get("/api/fib/{n}", response_class=PlainTextResponse)
async def fib(n: Length) -> str:
    return " ".join(map(str, fibonacci(int(n))))


def fibonacci(n: int) -> Iterator[int]:
    """F(0) to F(n)."""
    a, b = 0, 1
    for _ in range(n + 1):
        yield a
        a, b = b, a + b


@app.get("/", response_class=HTMLResponse)
async def snoop(request: Request) -> str:
    lines = "\n".join(
        f"HEADER: {escape(name)} = {escape(value)}" for name, value in request.headers.items()
    )
    return f"<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n{lines}\n</pre>\n"
