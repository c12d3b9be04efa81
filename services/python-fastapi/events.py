"""The numbered events of the contract, each sent when its time has come."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

router = APIRouter()


@router.get("/events")
async def events(
    count: Annotated[int, Query(ge=1, le=10_000)],
    gap_us: Annotated[int, Query(ge=0, le=1_000_000)],
) -> StreamingResponse:
    # Starlette cancels the generator when the client leaves.
    return StreamingResponse(
        ticks(count, gap_us / 1e6),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache"},
    )


async def ticks(count: int, gap: float) -> AsyncIterator[str]:
    for n in range(1, count + 1):
        if n > 1 and gap > 0:
            await pause(gap)
        yield f'id: {n}\nevent: tick\ndata: {{"n": {n}, "of": {count}}}\n\n'
    yield "event: end\ndata: bye\n\n"


async def pause(seconds: float) -> None:
    """uvloop rounds to whole milliseconds: asyncio.sleep alone may be early."""
    end = monotonic() + seconds
    while (rest := end - monotonic()) > 0:
        await asyncio.sleep(max(rest, 0.001))
