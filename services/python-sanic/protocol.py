"""Delivery for Sanic 0.7, which mixes up requests that arrive in one packet."""

from sanic.server import HttpProtocol

END_OF_HEAD = b"\r\n\r\n"


class InTurn(HttpProtocol):
    """Hands the parser one request at a time; what follows waits for the answer."""

    def __init__(self, **options):
        super().__init__(**options)
        self._waiting = b""
        self._answering = False

    def data_received(self, data):
        self._waiting += data
        while self._waiting and not self._answering and not self.transport.is_closing():
            if self.request is None:
                end = self._waiting.find(END_OF_HEAD)
                if end < 0:
                    return
                end += len(END_OF_HEAD)
            else:
                end = 1  # only the parser knows where a body ends; no operation here reads one
            piece, self._waiting = self._waiting[:end], self._waiting[end:]
            super().data_received(piece)

    def on_message_complete(self):
        self._answering = True
        super().on_message_complete()

    def cleanup(self):
        super().cleanup()
        self._answering = False
        self.data_received(b"")
