"""A service for the contracts echo and room; with MODE=tires it alters messages, or skips a member, after a number of messages.
For the black-box tests."""

import asyncio
import base64
import hashlib
import os
import re
import signal

TIRES = os.environ.get("MODE") == "tires"
MANY = 3_000
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MORE, TEXT, CLOSE, PING, PONG = 0, 1, 8, 9, 10

answered = 0
# The members of each room.
rooms = {}


class End(Exception):
    """The connection was closed with a code."""


def frame(kind, payload):
    length = len(payload)
    if length < 126:
        header = bytes([0x80 | kind, length])
    elif length < 1 << 16:
        header = bytes([0x80 | kind, 126]) + length.to_bytes(2, "big")
    else:
        header = bytes([0x80 | kind, 127]) + length.to_bytes(8, "big")
    return header + payload


async def read_frame(reader):
    first, second = await reader.readexactly(2)
    length = second & 127
    if length > 125:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    if not second & 128:
        raise End((1002).to_bytes(2, "big"))
    key = await reader.readexactly(4)
    payload = await reader.readexactly(length)
    keys = (key * (length // 4 + 1))[:length]
    plain = (int.from_bytes(payload, "big") ^ int.from_bytes(keys, "big")).to_bytes(length, "big")
    return first & 15, bool(first & 128), plain


def check(kind, message):
    if kind == TEXT:
        try:
            message.decode()
        except UnicodeDecodeError:
            raise End((1007).to_bytes(2, "big"))


def is_tired():
    global answered
    answered += 1
    return TIRES and answered > MANY and answered % 10 == 0


def echo(writer, kind, message):
    if is_tired():
        message = message[:-1] + b"?"
    writer.write(frame(kind, message))


def say(members, kind, message):
    heard = frame(kind, message)
    for member in members[1:] if is_tired() else members:
        member.write(heard)


async def talk(reader, writer, answer):
    begun, message = None, b""
    while True:
        kind, is_final, payload = await read_frame(reader)
        if kind == PING:
            writer.write(frame(PONG, payload))
        elif kind == CLOSE:
            raise End(payload[:2])
        elif kind != PONG:
            begun = begun if kind == MORE else kind
            message += payload
            if is_final:
                check(begun, message)
                answer(begun, message)
                message = b""
        await writer.drain()


async def serve(reader, writer):
    members = []
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        target = head.split(" ")[1]
        room = re.fullmatch("/ws/room/([A-Za-z0-9_-]+)", target)
        if target != "/ws/echo" and not room:
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        lines = (line.partition(":") for line in head.split("\r\n")[1:])
        headers = {name.lower(): value.strip() for name, _, value in lines}
        accept = base64.b64encode(hashlib.sha1(headers["sec-websocket-key"].encode() + GUID).digest())
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: %s\r\n\r\n" % accept
        )
        if room:
            members = rooms.setdefault(room[1], members)
            members.append(writer)
        await talk(reader, writer, lambda *said: say(members, *said) if room else echo(writer, *said))
    except End as end:
        writer.write(frame(CLOSE, end.args[0]))
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        if writer in members:
            members.remove(writer)
        writer.close()


async def main():
    server = await asyncio.start_server(serve, os.environ["HOST"], int(os.environ["PORT"]), backlog=512)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with server:
        await stopped.wait()
        os._exit(0)


asyncio.run(main())
