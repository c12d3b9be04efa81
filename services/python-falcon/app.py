"""hello and sequence on Falcon."""

from collections.abc import Callable

import falcon.asgi

import sequence


class Hello:
    async def on_get(self, req, resp):
        resp.content_type = falcon.MEDIA_TEXT
        resp.text = "Hello, World!"


class Numbers:
    def __init__(self, compute: Callable[[int], str]):
        self.compute = compute

    async def on_get(self, req, resp, n):
        number = sequence.parse(n)
        if number is None:
            raise falcon.HTTPBadRequest(description="n must be an integer from 0 to 10000")
        resp.content_type = falcon.MEDIA_TEXT
        resp.text = self.compute(number)


app = falcon.asgi.App()
app.add_route("/api/test", Hello())
app.add_route("/api/count/{n}", Numbers(sequence.count))
app.add_route("/api/fib/{n}", Numbers(sequence.fib))
