"""Servers that misbehave, each in one way: `misbehaving.py MODE [CERTIFICATE KEY]`.

The first line of standard output is the port. Each mode imitates a server seen in practice: an overloaded one, a proxy that
drains, a keep-alive timeout that coincides with a request. For the black-box tests.
"""

import base64
import hashlib
import itertools
import re
import socket
import ssl
import struct
import sys
import threading
import time
from urllib.parse import unquote

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\n<h1>no</h1>"
# The same reply with unusual or invalid heads.
ODD_HEADS = {
    "usual-head": OK,
    "length-twice": OK.replace(b"\r\n\r\n", b"\r\nContent-Length: 13\r\n\r\n"),
    "folded-line": OK.replace(b"Content-Type", b"X-Folded: a\r\n b\r\nContent-Type"),
    "bare-line-feeds": b"HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 13\n\r\nHello, World!",
    "length-and-chunks": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nd\r\nHello, World!\r\n0\r\n\r\n",
}
REQUESTS = itertools.count(1)
CONNECTIONS = itertools.count(1)


class Ended(Exception):
    """The client has closed the connection."""


class Plain:
    """A buffered connection."""

    def __init__(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self.unread = b""
        self.writing = threading.Lock()

    def receive(self):
        return self.connection.recv(65536)

    def send(self, data):
        with self.writing:
            self.connection.sendall(data)

    def more(self):
        data = self.receive()
        if not data:
            raise Ended
        self.unread += data

    def until(self, mark):
        while mark not in self.unread:
            self.more()
        head, self.unread = self.unread.split(mark, 1)
        return head

    def exactly(self, count):
        while len(self.unread) < count:
            self.more()
        data, self.unread = self.unread[:count], self.unread[count:]
        return data

    def request(self):
        """Method and path of the next request; its body is read and discarded."""
        head = self.until(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        self.exactly(int(length.group(1)) if length else 0)
        method, path, _ = head.split(b"\r\n")[0].split(b" ")
        return method.decode(), unquote(path.decode("latin-1").split("?")[0])


class Tls(Plain):
    """The same over TLS, with control over which bytes share a segment."""

    def __init__(self, connection, context):
        super().__init__(connection)
        self.read, self.written = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.read, self.written, server_side=True)
        self.step(self.tls.do_handshake)

    def flush(self):
        if self.written.pending:
            self.connection.sendall(self.written.read())

    def step(self, operation):
        while True:
            try:
                result = operation()
                self.flush()
                return result
            except ssl.SSLWantReadError:
                self.flush()
                data = self.connection.recv(65536)
                if not data:
                    raise Ended from None
                self.read.write(data)

    def receive(self):
        return self.step(lambda: self.tls.read(65536))

    def send(self, data):
        with self.writing:
            self.tls.write(data)
            self.flush()

    def send_and_say_goodbye(self, data):
        """Data and close_notify in one segment."""
        self.tls.write(data)
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.flush()


def odd_head(connection, mode):
    while True:
        method, path = connection.request()
        reply = ODD_HEADS[mode] if path == "/api/test" else NOT_FOUND
        if path == "/api/test" and method not in ("GET", "HEAD"):
            reply = b"HTTP/1.1 405 Not Allowed\r\nContent-Length: 0\r\n\r\n"
        if method == "HEAD":
            reply = reply[: reply.index(b"\n\r\n") + 3]
        connection.send(reply)


def http1(connection, mode):
    """One of the modes that answer HTTP/1.1 requests one after the other."""
    connection.connection.settimeout(0.3 if mode == "timeout-408" else None)
    for of_connection in itertools.count(1):
        try:
            method, _ = connection.request()
        except TimeoutError:
            return connection.send(
                b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
        nth = next(REQUESTS)
        if mode == "all-404":
            connection.send(NOT_FOUND)
        elif mode == "all-503":
            connection.send(BUSY)
        elif mode == "silent":
            pass
        elif mode == "each-tenth-hangs" and nth % 10 == 0:
            connection.until(b"a byte that never comes")
        elif mode == "each-second-closes" and nth % 2 == 0:
            return
        elif mode == "half-503":
            if nth % 2:
                time.sleep(0.2)
            connection.send(OK if nth % 2 else BUSY)
        elif mode == "ten-per-connection" and of_connection == 10:
            connection.send(OK.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            connection.connection.shutdown(socket.SHUT_WR)
            while connection.receive():
                pass
            return
        elif mode == "fifth-request-lost" and of_connection == 5:
            return
        elif mode == "gzip-without-body":
            status = b"200 OK\r\nContent-Length: 120" if method == "HEAD" else b"204 No Content"
            connection.send(b"HTTP/1.1 " + status + b"\r\nContent-Encoding: gzip\r\n\r\n")
        elif mode == "endless":
            connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                connection.send(b"40000\r\n" + b"x" * 0x40000 + b"\r\n")
        elif mode == "twenty-mebibytes":
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (20 << 20) + b"x" * (20 << 20))
        elif mode == "twelve-mebibytes-of-json":
            text = b'{"pad":"' + b"x" * (12 << 20) + b'","id":7}'
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            connection.send(head % len(text) + text)
        elif mode == "slow":
            time.sleep(0.2)
            connection.send(OK)
        else:
            connection.send(OK)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
ACKNOWLEDGED, END = 1, 5


def goaway(last_stream):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last_stream, 0))


def streams(connection):
    """The ids of the streams that a client opens; sends the mandatory replies of a peer."""
    while True:
        head = connection.exactly(9)
        payload = connection.exactly(int.from_bytes(head[:3], "big"))
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:9], "big")
        if kind in (SETTINGS, PING) and not flags & ACKNOWLEDGED:
            connection.send(frame(kind, ACKNOWLEDGED, 0, payload if kind == PING else b""))
        elif kind == HEADERS:
            yield stream


def http2(connection, mode):
    connection.exactly(24)
    nth = next(CONNECTIONS)
    if mode == "goaway-in-greeting":
        connection.send(frame(SETTINGS, 0, 0) + goaway(0))
    elif mode == "http1-in-greeting" or (mode == "third-greeting-is-http1" and nth == 3):
        connection.send_and_say_goodbye(b"HTTP/1.1 503 Draining\r\nConnection: close\r\n\r\n")
        return connection.connection.recv(1)
    else:
        connection.send(frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 1000)))
    last = {"ten-per-connection-http2": 10}.get(mode, 20)
    for count, stream in enumerate(streams(connection), 1):
        reply = frame(HEADERS, END, stream, b"\x88")
        if mode == "goaway-in-greeting" or count > last:
            continue
        if mode == "goaway-before-a-slow-stream" and count == 15:
            threading.Timer(1.0, send_if_open, (connection, reply)).start()
        else:
            connection.send(reply)
        if count == last:
            connection.send(goaway(stream))


def send_if_open(connection, data):
    try:
        connection.send(data)
    except OSError:
        pass


def cut_over_tls(connection, _):
    """A reply without a length, cut by the end of the TCP connection."""
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\n\r\nhalf of the bo")
    connection.connection.shutdown(socket.SHUT_WR)
    connection.connection.recv(65536)


def speaks_first(connection, _):
    head = connection.until(b"\r\n\r\n")
    key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head).group(1)
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    connection.send(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n\x81\x05hello"
    )
    while True:
        first, length = connection.exactly(2)
        assert length & 0x7F < 126, "a short message"
        mask = connection.exactly(4)
        data = connection.exactly(length & 0x7F)
        message = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        connection.send(bytes([first, len(message)]) + message)


def listener(port=0):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen(1024)
    return made


def refuses_after_the_probe(listening):
    listening.accept()[0].close()
    listening.close()
    sys.stdin.read()


def away_for_a_while(listening):
    """After the first reply, which ends its connection, there is no listener for 100 ms."""
    port = listening.getsockname()[1]
    listening.accept()[0].close()
    first = Plain(listening.accept()[0])
    first.request()
    listening.close()
    first.send(OK.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
    first.connection.close()
    time.sleep(0.1)
    return listener(port)


def serve(accepted, handle, mode, context):
    try:
        handle(Tls(accepted, context) if context else Plain(accepted), mode)
    except (Ended, OSError):
        pass
    finally:
        accepted.close()


HANDLERS = {
    **dict.fromkeys(ODD_HEADS, odd_head),
    **dict.fromkeys(["goaway-in-greeting", "goaway-before-a-slow-stream", "ten-per-connection-http2"], http2),
    **dict.fromkeys(["http1-in-greeting", "third-greeting-is-http1"], http2),
    "cut-over-tls": cut_over_tls,
    "speaks-first": speaks_first,
}


def main(mode, *certificate):
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        if HANDLERS.get(mode) is http2:
            context.set_alpn_protocols(["h2"])
    listening = listener()
    print(listening.getsockname()[1], flush=True)
    if mode == "refuses-after-the-probe":
        return refuses_after_the_probe(listening)
    if mode == "away-for-a-while":
        listening = away_for_a_while(listening)
    handle = HANDLERS.get(mode, http1)
    while True:
        accepted, _ = listening.accept()
        threading.Thread(target=serve, args=(accepted, handle, mode, context), daemon=True).start()


main(*sys.argv[1:])
