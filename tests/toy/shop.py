"""A shop in memory: items behind a login. For the black-box test of the example in docs/FILES.md and of its file formats."""

import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit

items = [{"id": number, "name": f"item {number}", "price": number * 10} for number in range(1, 101)]
lock = Lock()


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_):
        pass

    def reply(self, status, body=None, **headers):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def do_GET(self):
        url = urlsplit(self.path)
        path = "/".join(unquote(segment) for segment in url.path.split("/"))
        item = re.fullmatch(r"/items/(\d+)", path)
        if path == "/items":
            query = parse_qs(url.query)
            offset, limit = (int(query[name][0]) for name in ("offset", "limit"))
            page = [{"id": item["id"], "name": item["name"]} for item in items[offset : offset + limit]]
            self.reply(200, {"items": page, "total": 100})
        elif item and 1 <= int(item[1]) <= len(items):
            self.reply(200, items[int(item[1]) - 1])
        else:
            self.reply(404)

    do_HEAD = do_GET

    def do_POST(self):
        data = self.body()
        path = unquote(urlsplit(self.path).path)
        if path == "/login":
            self.reply(200, {"token": f"t-{json.loads(data)['user']}"})
        elif path == "/items" and not self.headers.get("Authorization", "").startswith("Bearer t-"):
            self.reply(401)
        elif path == "/items":
            written = json.loads(data)
            with lock:
                item = {"id": len(items) + 1, "name": written["name"], "price": written["price"]}
                items.append(item)
            self.reply(201, item, Location=f"/items/{item['id']}")
        else:
            self.reply(404)

    def do_DELETE(self):
        self.body()
        self.reply(405)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server((os.environ["HOST"], int(os.environ["PORT"])), Shop).serve_forever()
