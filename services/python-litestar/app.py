"""hello and sequence on Litestar."""

from typing import Annotated

from litestar import Litestar, MediaType, get
from litestar.params import Parameter

import sequence

# An integer from 0 to 10,000.
Length = Annotated[str, Parameter(pattern="^(10000|[0-9]{1,4})$")]


@get("/api/test", media_type=MediaType.TEXT)
async def hello() -> str:
    return "Hello, World!"


@get("/api/count/{n:str}", media_type=MediaType.TEXT)
async def count(n: Length) -> str:
    return sequence.count(int(n))


@get("/api/fib/{n:str}", media_type=MediaType.TEXT)
async def fib(n: Length) -> str:
    return sequence.fib(int(n))


# Nothing but the contracts: no pages with the documentation.
app = Litestar([hello, count, fib], openapi_config=None)
