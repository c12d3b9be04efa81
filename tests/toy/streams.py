"""A service for the contract events; with MODE=goes-on it keeps counting for disconnected clients. For the black-box tests."""

import asyncio
import os
import signal
from urllib.parse import parse_qs, unquote, urlsplit

GOES_ON = os.environ.get("MODE") == "goes-on"


def number(query, name, least, most):
    text = query.get(name, [""])[0]
    if text.isascii() and text.isdigit() and len(text) < 8 and least <= int(text) <= most:
        return int(text)
    return None


async def stream(writer, count, gap):
    async def send(text):
        try:
            writer.write(b"%x\r\n%s\r\n" % (len(text), text))
            await writer.drain()
        except ConnectionError:
            if not GOES_ON:
                raise

    writer.write(
        b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for n in range(1, count + 1):
        if n > 1 and gap > 0:
            await asyncio.sleep(gap)
        await send(b'id: %d\nevent: tick\ndata: {"n": %d, "of": %d}\n\n' % (n, n, count))
    await send(b"event: end\ndata: bye\n\n")
    writer.write(b"0\r\n\r\n")


async def answer(writer, method, target):
    parts = urlsplit(target)
    query = parse_qs(parts.query)
    count, gap_us = number(query, "count", 1, 10_000), number(query, "gap_us", 0, 1_000_000)
    if unquote(parts.path) != "/events":
        status = 404
    elif method != "GET":
        status = 405
    elif count is None or gap_us is None:
        status = 400
    else:
        return await stream(writer, count, gap_us / 1e6)
    writer.write(b"HTTP/1.1 %d Refused\r\nContent-Length: 0\r\n\r\n" % status)
    await writer.drain()


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            lengths = [line for line in head if line.lower().startswith("content-length:")]
            if lengths:
                await reader.readexactly(int(lengths[0].split(":")[1]))
            method, target, _ = head[0].split(" ")
            await answer(writer, method, target)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, os.environ["HOST"], int(os.environ["PORT"]), backlog=512)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with server:
        await stopped.wait()
    os._exit(0)


asyncio.run(main())
