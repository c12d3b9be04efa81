"""Starts uvicorn with the settings of prony."""

import os
import signal
import sys

import uvicorn

import settings

if __name__ == "__main__":
    # uvicorn raises the signal again when it has stopped; unhandled, it would be the exit code.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.run(
        "app:app",
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "8080")),
        workers=settings.WORKERS,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=5,  # seconds; without it, a request that never ends holds the stop
    )
