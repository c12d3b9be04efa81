"""hello, sequence and snoop on Flask. The source runs unchanged on Flask 0.12 and 3."""

from html import escape

from flask import Flask, Response, request
from werkzeug.routing import BaseConverter


class Length(BaseConverter):
    """An integer from 0 to 10,000: anything else does not match the route, so it is a 404."""

    # Werkzeug 0.14 ends its pattern with "$", which lets a final newline through.
    regex = r"(?:10000|[0-9]{1,4})(?!\n)"
    to_python = int


app = Flask(__name__)
app.url_map.converters["length"] = Length


def text(body):
    return Response(body, mimetype="text/plain")


@app.route("/api/test")
def hello():
    return text("Hello, World!")


@app.route("/api/count/<length:n>")
def count(n):
    return text(" ".join(map(str, range(1, n + 1))))


@app.route("/api/fib/<length:n>")
def fib(n):
    return text(" ".join(map(str, fibonacci(n))))


def fibonacci(n):
    """F(0) to F(n)."""
    a, b = 0, 1
    for _ in range(n + 1):
        yield a
        a, b = b, a + b


@app.route("/")
def snoop():
    # WSGI hands over each name once, its values joined with a comma.
    lines = "\n".join(
        "HEADER: {} = {}".format(escape(name.lower()), escape(value))
        for name, value in request.headers.items()
    )
    page = "<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n" + lines + "\n</pre>\n"
    return Response(page, mimetype="text/html")
