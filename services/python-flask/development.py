"""The application on the development server that comes with Flask."""

import http.client
import logging
import os
import signal
import sys

from app import app

# http.client also counts the empty line after the headers, so 100 headers exceed its limit.
http.client._MAXHEADERS = 200

# No log line for each request.
logging.getLogger("werkzeug").setLevel(logging.ERROR)

# Without a handler, the process would exit with the code of the signal.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

app.run(host=os.environ.get("HOST", "127.0.0.1"), port=int(os.environ.get("PORT", "8080")))
