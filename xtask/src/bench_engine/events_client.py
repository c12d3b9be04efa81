"""A typical Python client of server-sent events: it reads line by line, and records the time of each event.

Prints the number of events as JSON. usage: events_client.py URL STREAMS SECONDS
"""

import asyncio
import contextlib
import json
import sys
import time

import aiohttp


async def read_events(url, streams, seconds):
    firsts, gaps = [], []
    # A task that always has lines to read cannot be cancelled in time.
    end = time.perf_counter() + seconds

    async def read(session):
        while True:
            last = sent = time.perf_counter()
            async with session.get(url) as reply:
                async for line in reply.content:
                    if line.startswith(b"data:"):
                        now = time.perf_counter()
                        if now >= end:
                            return
                        (firsts if last == sent else gaps).append(now - last)
                        last = now

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*[read(session) for _ in range(streams)]), seconds)
    print(json.dumps({"replies": len(firsts) + len(gaps)}))


url, streams, seconds = sys.argv[1:]
asyncio.run(read_events(url, int(streams), float(seconds)))
