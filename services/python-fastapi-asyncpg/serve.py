"""Starts uvicorn with prony's settings."""

import os
import signal
import sys

import uvicorn

import settings

if __name__ == "__main__":
    # uvicorn raises the signal again after its shutdown; if it were unhandled, it would become the exit code.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.run(
        "app:app",
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "8080")),
        workers=settings.WORKERS,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=5,  # seconds; the default is to wait forever
    )
