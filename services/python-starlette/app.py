"""hello, sequence, echo and room on Starlette."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

import room
import sequence


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("Hello, World!")


def numbers(compute: Callable[[int], str]):
    async def answer(request: Request) -> PlainTextResponse:
        n = sequence.parse(request.path_params["n"])
        if n is None:
            raise HTTPException(400)
        return PlainTextResponse(compute(n))

    return answer


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    try:
        # The server itself answers pings and closes.
        while (message := await socket.receive())["type"] == "websocket.receive":
            if (text := message.get("text")) is not None:
                await socket.send_text(text)
            else:
                await socket.send_bytes(message["bytes"])
    except WebSocketDisconnect:
        pass  # the client left before it had its reply


app = Starlette(
    routes=[
        Route("/api/test", hello),
        Route("/api/count/{n}", numbers(sequence.count)),
        Route("/api/fib/{n}", numbers(sequence.fib)),
        WebSocketRoute("/ws/echo", echo),
        WebSocketRoute("/ws/room/{name}", room.room),
    ]
)
# A path is exact in the contracts.
app.router.redirect_slashes = False
