"""What requests hold. What is no value of the right kind is a 400."""

import json

from django.core.exceptions import BadRequest


def json_object(request):
    try:
        value = json.loads(request.body)
    except ValueError as error:
        raise BadRequest from error
    return of_type(value, dict)


def of_type(value, kind):
    # A boolean is an int in Python.
    if type(value) is not kind:
        raise BadRequest
    return value


def text(value):
    """A text as PostgreSQL can store it: without NUL and without halves of surrogate pairs."""
    try:
        if b"\0" in of_type(value, str).encode():
            raise BadRequest
    except UnicodeEncodeError as error:
        raise BadRequest from error
    return value


def parameter(request, name, default=None):
    value = request.GET.get(name, default)
    if value is None or not (value.isascii() and value.isdigit() and len(value) < 20):
        raise BadRequest
    return int(value)
