"""orders, fortunes and account on Django: the entry of gunicorn."""

import io
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")

django = get_wsgi_application()


def app(environ, start_response):
    # Django reads as many bytes as Content-Length says, and a chunked body has none.
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        body = environ["wsgi.input"].read()
        environ["wsgi.input"] = io.BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
    return django(environ, start_response)
