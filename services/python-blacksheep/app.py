"""hello and sequence on BlackSheep."""

from urllib.parse import unquote

from blacksheep import Application, Request, Response, bad_request, text
from blacksheep.server.routing import RouteMatch, Router

import sequence


class ExactRouter(Router):
    """The base class ignores the case of a path and compares it as it was sent: here /%74est is /test, and /TEST is not."""

    def get_match(self, request: Request) -> RouteMatch | None:
        path = unquote(request.path)
        return None if path != path.lower() else self.get_match_by_method_and_path(request.method, path)


router = ExactRouter()
app = Application(router=router)


@router.get("/api/test")
async def hello() -> Response:
    return text("Hello, World!")


@router.get("/api/count/{n}")
async def count(n: str) -> Response:
    return numbers(sequence.count, n)


@router.get("/api/fib/{n}")
async def fib(n: str) -> Response:
    return numbers(sequence.fib, n)


def numbers(compute, written: str) -> Response:
    n = sequence.parse(written)
    return bad_request("n must be an integer from 0 to 10000") if n is None else text(compute(n))
