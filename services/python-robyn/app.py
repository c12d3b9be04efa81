"""hello and sequence on Robyn."""

import os
import re
from urllib.parse import unquote

from robyn import Request, Response, Robyn

import sequence

TEXT = {"Content-Type": "text/plain"}

app = Robyn(__file__)


@app.get("/api/test")
async def hello(request: Request):
    return greeting()


@app.get("/api/count/:n")
async def count(request: Request):
    return numbers("count", request.path_params["n"])


@app.get("/api/fib/:n")
async def fib(request: Request):
    return numbers("fib", request.path_params["n"])


@app.get("/*path")
async def unescaped(request: Request):
    """Robyn compares paths as they were sent, but /api/%74est names the same resource as /api/test."""
    path = unquote(request.url.path)
    if path == "/api/test":
        return greeting()
    match = re.fullmatch("/api/(count|fib)/([^/]*)", path)
    return numbers(*match.groups()) if match else Response(404, TEXT, "no such path")


def greeting() -> Response:
    return Response(200, TEXT, "Hello, World!")


def numbers(operation: str, text: str) -> Response:
    n = sequence.parse(text)
    if n is None:
        return Response(400, TEXT, "n must be an integer from 0 to 10000")
    return Response(200, TEXT, sequence.count(n) if operation == "count" else sequence.fib(n))


if __name__ == "__main__":
    app.start(
        host=os.environ.get("HOST", "127.0.0.1"), port=int(os.environ.get("PORT", "8080"))
    )
