"""What one member of a room says, all of its members hear. Rooms are in the memory of one process."""

import asyncio
from collections.abc import Iterable

from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

# Messages that wait for a member who reads slowly; with one more it is dropped.
QUEUE_LENGTH = 256

rooms: dict[str, dict[asyncio.Queue[Message], asyncio.Task]] = {}


async def write(socket: WebSocket, queue: asyncio.Queue[Message]) -> None:
    while True:
        await socket.send(await queue.get())


async def read(socket: WebSocket, members: dict[asyncio.Queue[Message], asyncio.Task]) -> None:
    while (message := await socket.receive())["type"] == "websocket.receive":
        said = {**message, "type": "websocket.send"}
        for queue, writing in members.items():
            if queue.full():
                writing.cancel()
            else:
                queue.put_nowait(said)


async def room(socket: WebSocket) -> None:
    await socket.accept()
    name = socket.path_params["name"]
    members = rooms.setdefault(name, {})
    queue: asyncio.Queue[Message] = asyncio.Queue(QUEUE_LENGTH)
    writing = members[queue] = asyncio.create_task(write(socket, queue))
    reading = asyncio.create_task(read(socket, members))
    try:
        # It left, or reads too slowly.
        await asyncio.wait((reading, writing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        del members[queue]
        if not members:
            del rooms[name]
        await end((reading, writing))


async def end(tasks: Iterable[asyncio.Task]) -> None:
    for task in tasks:
        task.cancel()
    for error in await asyncio.gather(*tasks, return_exceptions=True):
        if error and not isinstance(error, WebSocketDisconnect | asyncio.CancelledError):
            raise error
