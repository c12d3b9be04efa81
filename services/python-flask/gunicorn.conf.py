import os

bind = os.environ.get("HOST", "127.0.0.1") + ":" + os.environ.get("PORT", "8080")
workers = int(os.environ.get("WORKERS") or len(os.sched_getaffinity(0)))
threads = 4  # more than one selects the threaded worker: the plain one closes each connection
keepalive = 75  # seconds; the default of 2 is meant for a proxy on the same host
limit_request_fields = 200  # the default, 100, has no room for Host beside 100 headers
graceful_timeout = 5  # seconds; an idle connection does not hold up the stop for longer
