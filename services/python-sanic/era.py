"""hello and sequence on Sanic 0.7, which keeps no list of the headers as they were sent."""

import os
from urllib.parse import unquote

from sanic import Sanic
from sanic.exceptions import SanicException
from sanic.response import text
from sanic.router import Router

from protocol import InTurn


class DecodingRouter(Router):
    """Sanic compares paths as they were sent: this one knows that /%74est is /test."""

    def _get(self, url, method, host):
        return super()._get(unquote(url), method, host)


app = Sanic("service", router=DecodingRouter())
app.config.KEEP_ALIVE_TIMEOUT = 75  # seconds; the default is 5
app.config.GRACEFUL_SHUTDOWN_TIMEOUT = 5.0

# An integer from 0 to 10,000: anything else does not match the route, so it is a 404.
# Sanic ends its pattern with "$", which lets a final newline through.
N = r"<n:(?:10000|[0-9]{1,4})(?!\n)>"


@app.exception(SanicException)
def refuse(request, exception):
    """Like Sanic's own handler, but it logs nothing and gives HEAD no body."""
    body = "" if request is not None and request.method == "HEAD" else str(exception)
    return text(body, status=exception.status_code)


@app.route("/api/test")
async def hello(request):
    return text("Hello, World!")


@app.route("/api/count/" + N)
async def count(request, n):
    return text(" ".join(map(str, range(1, int(n) + 1))))


@app.route("/api/fib/" + N)
async def fib(request, n):
    return text(" ".join(map(str, fibonacci(int(n)))))


def fibonacci(n):
    """F(0) to F(n)."""
    a, b = 0, 1
    for _ in range(n + 1):
        yield a
        a, b = b, a + b


if __name__ == "__main__":
    app.run(
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "8080")),
        backlog=2048,  # hundreds of connections may come at once; the default is about a hundred
        workers=int(os.environ.get("WORKERS") or len(os.sched_getaffinity(0))),
        protocol=InTurn,
        access_log=False,
    )
