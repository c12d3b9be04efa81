"""hello, sequence and snoop on aiohttp. The source runs unchanged on aiohttp 2.3 and 3."""

import os
from html import escape

from aiohttp import web

routes = web.RouteTableDef()

# An integer from 0 to 10,000: anything else does not match the route, so it is a 404.
N = "{n:10000|[0-9]{1,4}}"


@routes.get("/api/test")
async def hello(request):
    return web.Response(text="Hello, World!")


@routes.get("/api/count/" + N)
async def count(request):
    n = int(request.match_info["n"])
    return web.Response(text=" ".join(map(str, range(1, n + 1))))


@routes.get("/api/fib/" + N)
async def fib(request):
    n = int(request.match_info["n"])
    return web.Response(text=" ".join(map(str, fibonacci(n))))


def fibonacci(n):
    """F(0) to F(n)."""
    a, b = 0, 1
    for _ in range(n + 1):
        yield a
        a, b = b, a + b


@routes.get("/")
async def snoop(request):
    # raw_headers keeps every repetition; the names come as they were sent.
    lines = "\n".join(
        "HEADER: {} = {}".format(
            escape(name.decode("latin-1").lower()), escape(value.decode("utf-8", "replace"))
        )
        for name, value in request.raw_headers
    )
    page = "<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n" + lines + "\n</pre>\n"
    return web.Response(text=page, content_type="text/html", charset="utf-8")


def create_app(**options):
    app = web.Application(**options)
    app.router.add_routes(routes)
    return app


def main(app):
    web.run_app(
        app,
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "8080")),
        backlog=2048,  # hundreds of connections may come at once; the default is about a hundred
        access_log=None,  # no log line per request
    )
