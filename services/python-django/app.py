"""hello and sequence on Django, with its settings: a project of one file."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path, register_converter
from django.views.decorators.http import require_safe

import sequence

settings.configure(
    DEBUG=False,
    ROOT_URLCONF=__name__,
    # The load generator asks for an address, not for a name.
    ALLOWED_HOSTS=["*"],
    # Those of `startproject` that need neither a database nor forms.
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
)


class LengthConverter:
    """An integer from 0 to 10,000; anything else does not match the route, so it is a 404."""

    regex = "10000|[0-9]{1,4}"

    def to_python(self, value):
        return int(value)

    def to_url(self, value):
        return str(value)


register_converter(LengthConverter, "length")


@require_safe
def hello(request):
    return text("Hello, World!")


@require_safe
def count(request, n):
    return text(sequence.count(n))


@require_safe
def fib(request, n):
    return text(sequence.fib(n))


def text(body):
    return HttpResponse(body, content_type="text/plain")


urlpatterns = [
    path("api/test", hello),
    path("api/count/<length:n>", count),
    path("api/fib/<length:n>", fib),
]

app = get_wsgi_application()
