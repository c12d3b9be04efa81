"""Each message of a WebSocket comes back."""

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

router = APIRouter()


@router.websocket("/ws/echo")
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
