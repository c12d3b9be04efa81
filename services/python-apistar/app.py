"""hello, sequence and snoop on API Star 0.5, the last line of it that was a framework."""

import re
from html import escape

from apistar import ASyncApp, Route, exceptions
from apistar.http import HTMLResponse, Response
from apistar.server.asgi import ASGIScope


class TextResponse(Response):
    media_type = "text/plain"


async def hello() -> TextResponse:
    return TextResponse("Hello, World!")


async def count(n: str) -> TextResponse:
    return TextResponse(" ".join(map(str, range(1, length(n) + 1))))


async def fib(n: str) -> TextResponse:
    return TextResponse(" ".join(map(str, fibonacci(length(n)))))


def length(text):
    """An integer from 0 to 10,000."""
    if not re.fullmatch("10000|[0-9]{1,4}", text):
        raise exceptions.NotFound()
    return int(text)


def fibonacci(n):
    """F(0) to F(n)."""
    a, b = 0, 1
    for _ in range(n + 1):
        yield a
        a, b = b, a + b


async def snoop(scope: ASGIScope) -> HTMLResponse:
    # API Star's own Headers refuse bytes that are not UTF-8.
    lines = "\n".join(
        f"HEADER: {escape(name.decode('latin-1'))} = {escape(value.decode('latin-1'))}"
        for name, value in scope["headers"]
    )
    return HTMLResponse(f"<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n{lines}\n</pre>\n")


app = ASyncApp(
    routes=[
        Route("/api/test", "GET", hello),
        Route("/api/count/{n}", "GET", count),
        Route("/api/fib/{n}", "GET", fib),
        Route("/", "GET", snoop),
    ],
    # Nothing but the contracts: no pages with the documentation.
    schema_url=None,
    docs_url=None,
)
