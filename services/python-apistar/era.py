"""hello and sequence on API Star 0.3."""

import re
from urllib.parse import unquote

from apistar import Component, Route, exceptions, http
from apistar.components.router import WerkzeugRouter
from apistar.frameworks.asyncio import ASyncIOApp
from apistar.interfaces import Router
from uvicorn.protocols import http as uvicorn_http

from protocol import WholeHead

# The worker takes the protocol from there when it starts to listen.
uvicorn_http.HttpProtocol = WholeHead

TEXT = "text/plain; charset=utf-8"


async def hello():
    return http.Response(b"Hello, World!", content_type=TEXT)


async def count(n: str):
    return sequence(range(1, length(n) + 1))


async def fib(n: str):
    return sequence(fibonacci(length(n)))


def sequence(numbers):
    return http.Response(" ".join(map(str, numbers)).encode(), content_type=TEXT)


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


class DecodingRouter(WerkzeugRouter):
    """Knows that /%74est is /test, and refuses HEAD: uvicorn 0.0.15 leaves both to the application."""

    def lookup(self, path, method):
        if method == "HEAD":
            raise exceptions.MethodNotAllowed()
        return super().lookup(unquote(path), method)


class App(ASyncIOApp):
    def exception_handler(self, exc: Exception, method: http.Method) -> http.Response:
        """An answer to HEAD has no body."""
        response = super().exception_handler(exc)
        if method == "HEAD":
            return http.Response(b"", response.status, {}, TEXT)
        return response


app = App(
    routes=[
        Route("/api/test", "GET", hello),
        Route("/api/count/{n}", "GET", count),
        Route("/api/fib/{n}", "GET", fib),
    ],
    components=[Component(Router, init=DecodingRouter)],
)
