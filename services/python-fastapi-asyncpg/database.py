"""The pool of connections, as a dependency."""

from typing import Annotated

import asyncpg
from fastapi import Depends, Request


def pool(request: Request) -> asyncpg.Pool:
    return request.app.state.pool


Pool = Annotated[asyncpg.Pool, Depends(pool)]
