"""Starts uvicorn with the settings of prony."""

import os
import signal
import sys

import uvicorn

if __name__ == "__main__":
    # uvicorn raises the signal again when it has stopped; unhandled, it would be the exit code.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    uvicorn.run(
        "app:app",
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "8080")),
        workers=int(os.environ.get("WORKERS") or len(os.sched_getaffinity(0))),
        access_log=False,
        log_level="warning",
        ws_per_message_deflate=False,  # messages of a WebSocket go as they are
        timeout_graceful_shutdown=5,  # seconds; without it, a request that never ends holds the stop
    )
