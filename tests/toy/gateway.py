"""A gateway of language models: it relays bytes, waits DELAY_MS before the first event of a stream, and computes for BURN_US per event.

For the black-box tests, and for research/gateway/planted.py.
"""

import asyncio
import contextlib
import os
import time
from urllib.parse import urlsplit

MODEL = urlsplit(os.environ["MODEL_URL"])
KEY = os.environ["MODEL_KEY"]
DELAY_S = int(os.environ.get("DELAY_MS", "0")) / 1e3
BURN_NS = int(os.environ.get("BURN_US", "0")) * 1000
ERROR = b'{"error":{"message":"the model cannot be reached"}}'
UNREACHABLE = (
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
    % (len(ERROR), ERROR)
)


async def read_body(reader, headers):
    if b"transfer-encoding" not in headers:
        return await reader.readexactly(int(headers.get(b"content-length", b"0")))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body


async def ask(reader):
    """Sends the next request of a client to the model, with the model's key."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(b":", 1) for line in lines)}
    body = await read_body(reader, headers)
    replies, requests = await asyncio.open_connection(MODEL.hostname, MODEL.port)
    own = f"Host: model\r\nConnection: close\r\nAuthorization: Bearer {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
    requests.write(first + b"\r\nContent-Type: application/json\r\n" + own.encode() + body)
    return replies, requests


async def relay(replies, client):
    waits = DELAY_S > 0
    while piece := await replies.read(1 << 16):
        if waits and b"data:" in piece:
            waits = False
            await asyncio.sleep(DELAY_S)
        burn(BURN_NS * piece.count(b"data:"))
        client.write(piece)
        await client.drain()


def burn(cpu_ns):
    end = time.thread_time_ns() + cpu_ns
    while time.thread_time_ns() < end:
        pass


async def until_gone(reader):
    while await reader.read(1 << 16):
        pass


async def serve(reader, client):
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        try:
            replies, requests = await ask(reader)
        except OSError:
            client.write(UNREACHABLE)
            await client.drain()
            return client.close()
        tasks = {asyncio.ensure_future(relay(replies, client)), asyncio.ensure_future(until_gone(reader))}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        requests.close()
    client.close()


async def main():
    server = await asyncio.start_server(serve, os.environ["HOST"], int(os.environ["PORT"]), backlog=1024)
    await server.serve_forever()


asyncio.run(main())
