"""hello and sequence on Bottle."""

from collections.abc import Callable

from bottle import Bottle, HTTPError, response

import sequence

app = Bottle()


@app.get("/api/test")
def hello() -> str:
    return text("Hello, World!")


@app.get("/api/count/<n>")
def count(n: str) -> str:
    return numbers(sequence.count, n)


@app.get("/api/fib/<n>")
def fib(n: str) -> str:
    return numbers(sequence.fib, n)


def numbers(compute: Callable[[int], str], written: str) -> str:
    n = sequence.parse(written)
    if n is None:
        raise HTTPError(400, "n must be an integer from 0 to 10000")
    return text(compute(n))


def text(body: str) -> str:
    response.content_type = "text/plain; charset=utf-8"
    return body
