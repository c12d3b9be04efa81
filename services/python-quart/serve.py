"""Hypercorn on HOST and PORT; on TLS_PORT too, if there is one, with HTTP/2 or HTTP/1.1, as the client prefers."""

import os
import ssl
import sys

from hypercorn.config import Config
from hypercorn.run import run


class ServiceConfig(Config):
    def create_ssl_context(self) -> ssl.SSLContext | None:
        context = super().create_ssl_context()
        if context is not None:
            # Each worker has its own keys for tickets, so another could not resume what one began.
            context.num_tickets = 0
        return context


def configuration() -> Config:
    config = ServiceConfig.from_toml("hypercorn.toml")
    config.application_path = "app:app"
    config.workers = int(os.environ.get("WORKERS", os.cpu_count()))
    host = os.environ.get("HOST", "127.0.0.1")
    config.bind = [f"{host}:{os.environ.get('PORT', '8080')}"]
    if "TLS_PORT" in os.environ:
        config.insecure_bind = config.bind
        config.bind = [f"{host}:{os.environ['TLS_PORT']}"]
        config.certfile = os.environ["TLS_CERT"]
        config.keyfile = os.environ["TLS_KEY"]
    return config


if __name__ == "__main__":
    sys.exit(run(configuration()))
