from django.http import HttpResponseBadRequest
from django.shortcuts import render
from django.views.decorators.http import require_safe

from .models import Fortune


@require_safe
def fortunes(request):
    nonce = request.GET.get("nonce")
    if nonce is None:
        return HttpResponseBadRequest()
    rows = list(Fortune.objects.all())
    rows.append(Fortune(id=0, message=f"Additional fortune: {nonce}"))
    rows.sort(key=lambda fortune: fortune.message)
    return render(request, "fortunes.html", {"fortunes": rows})
