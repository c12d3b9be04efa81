"""hello and sequence on Starlette."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import sequence


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("Hello, World!")


def numbers(compute: Callable[[int], str]):
    async def answer(request: Request) -> PlainTextResponse:
        n = sequence.parse(request.path_params["n"])
        if n is None:
            raise HTTPException(400)
        return PlainTextResponse(compute(n))

    return answer


app = Starlette(
    routes=[
        Route("/api/test", hello),
        Route("/api/count/{n}", numbers(sequence.count)),
        Route("/api/fib/{n}", numbers(sequence.fib)),
    ]
)
# A path is exact in the contracts.
app.router.redirect_slashes = False
