import os

bind = os.environ.get("HOST", "127.0.0.1") + ":" + os.environ.get("PORT", "8080")
workers = int(os.environ.get("WORKERS") or len(os.sched_getaffinity(0)))
threads = 4  # more than one selects the threaded worker: the plain one closes each connection
keepalive = 75  # seconds; the default of 2 is for a proxy on the same host
limit_request_fields = 200  # the default of 100 is too small for 100 headers and Host
graceful_timeout = 5  # seconds; idle connections would delay the shutdown for longer
