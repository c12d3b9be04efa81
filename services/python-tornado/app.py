"""hello and sequence on Tornado."""

import asyncio
import multiprocessing
import os
import re
import signal
import ssl
from collections.abc import Callable

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

import sequence


class TextHandler(RequestHandler):
    def set_default_headers(self):
        self.set_header("Content-Type", "text/plain; charset=utf-8")


class Hello(TextHandler):
    def get(self):
        self.write("Hello, World!")


class Numbers(TextHandler):
    def initialize(self, compute: Callable[[int], str]):
        self.compute = compute

    def get(self, n: str):
        number = sequence.parse(n)
        if number is None:
            raise HTTPError(400)
        self.write(self.compute(number))


class DecodingApplication(Application):
    """Tornado compares paths as they were sent: this one knows that /%74est is /test."""

    def find_handler(self, request, **kwargs):
        if "%" in request.path:
            request.path = re.sub("%[0-9A-Fa-f]{2}", decode_unreserved, request.path)
        return super().find_handler(request, **kwargs)


def decode_unreserved(match: re.Match) -> str:
    character = chr(int(match[0][1:], 16))
    return character if re.match("[A-Za-z0-9._~-]", character) else match[0]


app = DecodingApplication(
    [
        ("/api/test", Hello),
        ("/api/count/([^/]+)", Numbers, {"compute": sequence.count}),
        ("/api/fib/([^/]+)", Numbers, {"compute": sequence.fib}),
    ],
    log_function=lambda handler: None,  # otherwise each bad request is a line
)


async def serve(listeners):
    servers = []
    for sockets, tls in listeners:
        server = HTTPServer(app, ssl_options=tls)
        server.add_sockets(sockets)
        servers.append(server)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    for server in servers:
        server.stop()
        # Each request is answered at once, so none is in flight.
        await server.close_all_connections()


def work(listeners):
    asyncio.run(serve(listeners))


def listen(port: str):
    # Hundreds of connections may come at once; the default is 128.
    return bind_sockets(int(port), os.environ.get("HOST", "127.0.0.1"), backlog=2048)


def main():
    listeners = [(listen(os.environ.get("PORT", "8080")), None)]
    if "TLS_PORT" in os.environ:
        # The workers inherit the keys for tickets, too.
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
        listeners.append((listen(os.environ["TLS_PORT"]), tls))
    count = int(os.environ.get("WORKERS") or len(os.sched_getaffinity(0)))
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=work, args=(listeners,)) for _ in range(count)]
    for worker in workers:
        worker.start()
    signal.signal(signal.SIGTERM, lambda *_: [worker.terminate() for worker in workers])
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
