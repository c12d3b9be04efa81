"""app.py with catalog, upload and events, which the variant of another era does not have."""

import asyncio
import hashlib
from time import monotonic

from aiohttp import web

import app
from items import item

routes = web.RouteTableDef()

MOST = 20 * 1024 * 1024


@routes.get("/catalog")
async def catalog(request):
    first, count = number(request, "from", 1_000_000), number(request, "count", 500)
    response = web.json_response({"items": [item(i) for i in range(first, first + count)]})
    response.headers["Vary"] = "Accept-Encoding"
    # Left to choose, aiohttp takes deflate before gzip.
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response.enable_compression(web.ContentCoding.gzip)
    return response


def number(request, name, most, least=1):
    text = request.query.get(name, "")
    if text.isascii() and text.isdigit() and len(text) <= 7 and least <= int(text) <= most:
        return int(text)
    raise web.HTTPBadRequest


@routes.post("/upload")
async def upload(request):
    digest = hashlib.sha256()
    received = 0
    try:
        # What is too much is read all the same, and so the connection goes on.
        async for piece in request.content.iter_any():
            received += len(piece)
            if received <= MOST:
                digest.update(piece)
    except ConnectionResetError:
        # Nobody hears it; unhandled, a client that leaves is a page in the log.
        raise web.HTTPBadRequest
    if received > MOST:
        raise web.HTTPRequestEntityTooLarge(max_size=MOST, actual_size=received)
    return web.json_response({"bytes": received, "sha256": digest.hexdigest()})


@routes.get("/events", allow_head=False)
async def events(request):
    count = number(request, "count", 10_000)
    gap = number(request, "gap_us", 1_000_000, least=0) / 1e6
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    )
    await response.prepare(request)
    try:
        for n in range(1, count + 1):
            if n > 1 and gap > 0:
                await pause(gap)
            await response.write(b'id: %d\nevent: tick\ndata: {"n": %d, "of": %d}\n\n' % (n, n, count))
        await response.write_eof(b"event: end\ndata: bye\n\n")
    except ConnectionResetError:
        pass  # the client has left
    return response


async def pause(seconds):
    """uvloop rounds to whole milliseconds: asyncio.sleep alone may be early."""
    end = monotonic() + seconds
    while (rest := end - monotonic()) > 0:
        await asyncio.sleep(max(rest, 0.001))


async def gunicorn_app():
    # A body is hashed as it was sent, with its Content-Encoding.
    application = app.create_app(handler_args={"auto_decompress": False})
    application.add_routes(routes)
    return application


if __name__ == "__main__":
    app.main(gunicorn_app())
