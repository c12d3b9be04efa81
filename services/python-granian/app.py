"""hello, sequence and snoop on Granian's own interface, RSGI."""

import re
from html import escape
from urllib.parse import unquote

TEXT = [("content-type", "text/plain; charset=utf-8")]
HTML = [("content-type", "text/html; charset=utf-8")]

SEQUENCE = re.compile("/api/(count|fib)/(10000|[0-9]{1,4})")


async def app(scope, protocol):
    status, headers, body = answer(scope)
    protocol.response_str(status, headers, body)


def answer(scope):
    path = unquote(scope.path)
    sequence = SEQUENCE.fullmatch(path)
    if not sequence and path not in ("/", "/api/test"):
        return 404, TEXT, "not found"
    if scope.method not in ("GET", "HEAD"):
        return 405, TEXT, "method not allowed"
    if path == "/":
        return 200, HTML, snoop(scope.headers)
    if path == "/api/test":
        return 200, TEXT, "Hello, World!"
    operation, n = sequence[1], int(sequence[2])
    numbers = range(1, n + 1) if operation == "count" else fibonacci(n)
    return 200, TEXT, " ".join(map(str, numbers))


def fibonacci(n):
    """F(0) to F(n)."""
    a, b = 0, 1
    for _ in range(n + 1):
        yield a
        a, b = b, a + b


def snoop(headers):
    lines = "\n".join(
        f"HEADER: {escape(name)} = {escape(value)}"
        for name in dict.fromkeys(headers.keys())
        for value in headers.get_all(name)
    )
    return f"<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n{lines}\n</pre>\n"
