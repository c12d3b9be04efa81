"""Delivery for uvicorn 0.0.15, which understands a request only if its head arrives in one piece."""

from uvicorn.protocols.http import HttpProtocol

END_OF_HEAD = b"\r\n\r\n"


class WholeHead(HttpProtocol):
    """Hands each head to the parser when it is complete."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._waiting = b""
        self._in_body = False

    def data_received(self, data):
        self._waiting += data
        while self._waiting and self.transport is not None:
            if self._in_body:
                end = 1  # only the parser knows where a body ends; no operation here reads one
            else:
                end = self._waiting.find(END_OF_HEAD)
                if end < 0:
                    return
                end += len(END_OF_HEAD)
            piece, self._waiting = self._waiting[:end], self._waiting[end:]
            super().data_received(piece)

    def on_headers_complete(self):
        self._in_body = True

    def on_message_complete(self):
        self._in_body = False
        super().on_message_complete()
