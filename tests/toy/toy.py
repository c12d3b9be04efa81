"""A service for the contract hello, also over TLS, which misbehaves according to MODE. For the black-box tests."""

import http.client
import os
import random
import signal
import socket
import ssl
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

MODE = os.environ.get("MODE", "right")
# The time of a reply, s: constant, or different in each start, so that two services are equal on average.
SLOW = 0.04
UNSTEADY = {"unsteady": [1, 8, 2, 10, 1, 9, 2, 7], "restless": [8, 1, 10, 2, 9, 1, 7, 2]}
HELLO = b"Hello, World" if MODE == "short" else b"Hello, World!"


def kept(name):
    """A file that outlives this process, which the folder of the service does not."""
    return os.path.join(os.environ.get("STATE", "."), name)


def delay():
    if MODE == "slow":
        return SLOW
    if MODE not in UNSTEADY:
        return 0
    starts = 0
    if os.path.exists(kept("starts")):
        with open(kept("starts")) as file:
            starts = int(file.read())
    with open(kept("starts"), "w") as file:
        file.write(str(starts + 1))
    return UNSTEADY[MODE][starts % 8] / 1000


DELAY = delay()


def prepare():
    """What this service does before it listens, and keeps."""
    if MODE == "late":
        time.sleep(1.5)
    elif MODE == "large":
        return bytearray(b"x") * (64 << 20)
    elif MODE == "reading":
        file = open("data.bin", "rb")
        file.read()
        return file
    return None


KEPT = prepare()


def stumbles():
    """Whether this is the first start."""
    if os.path.exists(kept("stumbled")):
        return False
    open(kept("stumbled"), "w").close()
    return True


STUMBLES = MODE == "stumbles" and stumbles()


# A mortal service exits after this number of replies.
LIVES = [400]


def live_on():
    LIVES[0] -= 1
    if LIVES[0] <= 0:
        print("that was the last reply", file=sys.stderr, flush=True)
        os._exit(3)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    # The number of requests on this connection.
    seen = 0

    def do_GET(self):
        self.seen += 1
        # A check sends few requests on each connection, and detects nothing.
        if self.seen > 8 and self.seen % 2 and self.misbehaves():
            return
        if unquote(self.path.split("?")[0]) == "/api/test":
            self.reply(200, HELLO)
        else:
            self.reply(404, b"no such path")

    do_HEAD = do_GET

    def misbehaves(self):
        """Whether this request must not get a valid reply."""
        if STUMBLES or (MODE == "overloaded" and self.seen % 3 == 0):
            self.reply(500, b"overloaded")
        elif MODE == "resets":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif MODE == "stalls":
            time.sleep(3)
            self.close_connection = True
        else:
            return False
        return True

    def do_POST(self):
        """Relays to the backend, if there is one."""
        backend = os.environ.get("BACKEND_URL")
        if not backend:
            return self.reply(405, b"GET only")
        body = self.whole_body()
        link = http.client.HTTPConnection(backend.removeprefix("http://"))
        link.putrequest("POST", self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                link.putheader(name, value)
        link.putheader("Content-Length", str(len(body)))
        link.endheaders(body)
        answer = link.getresponse()
        content = answer.read()
        link.close()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def whole_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while length := int(self.rfile.readline(), 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def __getattr__(self, name):
        # Every other method.
        if name.startswith("do_"):
            return lambda: self.reply(405, b"GET only")
        raise AttributeError(name)

    def reply(self, status, body):
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        if DELAY:
            time.sleep(DELAY)
        if MODE == "waiting":
            time.sleep(random.uniform(0.15, 0.35))
        if MODE == "heavy":
            # About ten times the work of a normal reply.
            sum(range(200_000))
        if MODE == "mortal":
            live_on()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if MODE == "wide":
            self.send_header("X-Width", "x" * 4000)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        if MODE == "logs":
            print("a request", flush=True)


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


class TlsServer(Server):
    def finish_request(self, request, client_address):
        if MODE == "slow-handshakes":
            end = time.thread_time() + 0.001
            while time.thread_time() < end:
                pass
        try:
            with CONTEXT.wrap_socket(request, server_side=True) as connection:
                super().finish_request(connection, client_address)
                connection.unwrap()
        except OSError:
            # A client that offers too little, or that has left.
            pass


def serve_tls():
    TlsServer((os.environ["HOST"], int(os.environ["TLS_PORT"])), Handler).serve_forever()


if MODE == "dies":
    print("cannot find the flux capacitor", file=sys.stderr)
    sys.exit(7)

# http.client also counts the line that ends the headers.
http.client._MAXHEADERS = 200
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
if "TLS_PORT" in os.environ:
    CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CONTEXT.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
    CONTEXT.set_alpn_protocols(["http/1.1"])
    if MODE == "no-tickets":
        CONTEXT.num_tickets = 0
    threading.Thread(target=serve_tls, daemon=True).start()
Server((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()
