from django.db import InterfaceError, OperationalError
from django.http import JsonResponse


class DatabaseAway:
    """While the database is away, the answer is 503."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_exception(self, request, exception):
        if isinstance(exception, (InterfaceError, OperationalError)):
            return JsonResponse({"detail": "the database is away"}, status=503)
        return None
