"""What one member of a room says, all of its members hear. Rooms are in the memory of one process."""

import asyncio

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

# Messages that wait for a member who reads slowly; with one more it is dropped.
QUEUE_LENGTH = 256

router = APIRouter()


class Member:
    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.queue: asyncio.Queue[str | bytes] = asyncio.Queue(QUEUE_LENGTH)
        self.writing = asyncio.create_task(self.write())

    async def write(self) -> None:
        while True:
            message = await self.queue.get()
            if isinstance(message, str):
                await self.socket.send_text(message)
            else:
                await self.socket.send_bytes(message)

    def hear(self, message: str | bytes) -> None:
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            self.writing.cancel()


class Rooms:
    def __init__(self) -> None:
        self.members: dict[str, set[Member]] = {}

    def enter(self, room: str, member: Member) -> None:
        self.members.setdefault(room, set()).add(member)

    def leave(self, room: str, member: Member) -> None:
        self.members[room].discard(member)
        if not self.members[room]:
            del self.members[room]

    def say(self, room: str, message: str | bytes) -> None:
        for member in self.members[room]:
            member.hear(message)


rooms = Rooms()


async def listen(socket: WebSocket, room: str) -> None:
    while (message := await socket.receive())["type"] == "websocket.receive":
        text = message.get("text")
        rooms.say(room, message["bytes"] if text is None else text)


@router.websocket("/ws/room/{name}")
async def attend(socket: WebSocket, name: str) -> None:
    await socket.accept()
    member = Member(socket)
    rooms.enter(name, member)
    listening = asyncio.create_task(listen(socket, name))
    tasks = listening, member.writing
    try:
        # It left, or reads too slowly.
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        rooms.leave(name, member)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if error and not isinstance(error, WebSocketDisconnect | asyncio.CancelledError):
            raise error
