"""hello, sequence and snoop on Sanic."""

import os
from html import escape
from urllib.parse import unquote

from sanic import Sanic, html, text
from sanic.router import Router


class DecodingRouter(Router):
    """Sanic compares paths as they were sent: this one knows that /%74est is /test."""

    def get(self, path, method, host):
        return super().get(unquote(path), method, host)


app = Sanic("service", router=DecodingRouter())
app.config.ACCESS_LOG = False
app.config.REQUEST_MAX_HEADER_SIZE = 64 * 1024  # the default of 8 KiB is tight for 100 headers
app.config.GRACEFUL_SHUTDOWN_TIMEOUT = 5.0

# An integer from 0 to 10,000: anything else does not match the route, so it is a 404.
# Sanic ends its pattern with "$", which lets a final newline through.
N = r"<n:(?P<n>10000|[0-9]{1,4})(?!\n)>"


@app.get("/api/test")
async def hello(request):
    return text("Hello, World!")


@app.get("/api/count/" + N)
async def count(request, n):
    return text(" ".join(map(str, range(1, int(n) + 1))))


@app.get("/api/fib/" + N)
async def fib(request, n):
    return text(" ".join(map(str, fibonacci(int(n)))))


def fibonacci(n):
    """F(0) to F(n)."""
    a, b = 0, 1
    for _ in range(n + 1):
        yield a
        a, b = b, a + b


@app.get("/")
async def snoop(request):
    lines = "\n".join(
        f"HEADER: {escape(name)} = {escape(value)}" for name, value in request.headers.items()
    )
    page = f"<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n{lines}\n</pre>\n"
    return html(page.encode(errors="replace"))  # bytes that are not UTF-8 arrive as surrogates


if __name__ == "__main__":
    app.run(
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "8080")),
        backlog=2048,  # hundreds of connections may come at once; the default is about a hundred
        workers=int(os.environ.get("WORKERS") or len(os.sched_getaffinity(0))),
        motd=False,
    )
