"""hello and sequence on Quart."""

from collections.abc import Callable

from quart import Quart, Response, abort

import sequence

app = Quart(__name__)


def text(body: str) -> Response:
    return Response(body, mimetype="text/plain")


@app.get("/api/test")
async def hello() -> Response:
    return text("Hello, World!")


@app.get("/api/count/<n>")
async def count(n: str) -> Response:
    return numbers(sequence.count, n)


@app.get("/api/fib/<n>")
async def fib(n: str) -> Response:
    return numbers(sequence.fib, n)


def numbers(compute: Callable[[int], str], written: str) -> Response:
    n = sequence.parse(written)
    if n is None:
        abort(400)
    return text(compute(n))
