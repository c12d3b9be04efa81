"""A service that answers the contract hello, or misbehaves as MODE says. For the black-box tests."""

import http.client
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

MODE = os.environ.get("MODE", "right")
HELLO = b"Hello, World" if MODE == "short" else b"Hello, World!"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        if unquote(self.path.split("?")[0]) == "/api/test":
            self.reply(200, HELLO)
        else:
            self.reply(404, b"no such path")

    do_HEAD = do_GET

    def __getattr__(self, name):
        # Every other method.
        if name.startswith("do_"):
            return lambda: self.reply(405, b"GET only")
        raise AttributeError(name)

    def reply(self, status, body):
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


if MODE == "dies":
    print("cannot find the flux capacitor", file=sys.stderr)
    sys.exit(7)

# http.client counts the line that ends the headers too.
http.client._MAXHEADERS = 200
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
Server((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()
