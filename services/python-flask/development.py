"""The application on the development server that comes with Flask."""

import http.client
import logging
import os
import signal
import sys

from app import app

# http.client counts the line that ends the headers too, so 100 headers are one too many for it.
http.client._MAXHEADERS = 200

# No log line per request.
logging.getLogger("werkzeug").setLevel(logging.ERROR)

# Without a handler the process would end with the signal's own exit code.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

app.run(host=os.environ.get("HOST", "127.0.0.1"), port=int(os.environ.get("PORT", "8080")))
