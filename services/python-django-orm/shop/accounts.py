import json

from django.core.cache import cache
from django.core.exceptions import BadRequest
from django.db import transaction
from django.db.models import F
from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_POST, require_safe

from . import tokens
from .models import Account

# Of a cached account, in seconds.
LIFETIME = 1


def with_token(view):
    """Lets through who may see the account of the path."""

    def checked(request, id):
        claims = tokens.claims(request.headers.get("Authorization"))
        if claims is None:
            return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
        if not tokens.may(claims, id):
            return HttpResponse(status=403)
        if not (id.isascii() and id.isdigit() and len(id) < 20):
            return HttpResponse(status=404)
        return view(request, int(id))

    return checked


@require_safe
@with_token
def account(request, id):
    found = cache.get(id)
    if found is None:
        row = Account.objects.filter(id=id).first()
        if row is None:
            return HttpResponse(status=404)
        found = as_json(row)
        # Not in the place of what a deposit has put there meanwhile.
        cache.add(id, found, LIFETIME)
    return JsonResponse(found)


@require_POST
@with_token
@transaction.atomic
def deposits(request, id):
    try:
        body = json.loads(request.body)
    except ValueError as error:
        raise BadRequest from error
    amount = body.get("amountCents") if isinstance(body, dict) else None
    # A boolean is an int in Python.
    if type(amount) is not int or not 1 <= amount <= 1_000_000:
        return HttpResponse(status=422)
    if not Account.objects.filter(id=id).update(balance_cents=F("balance_cents") + amount):
        return HttpResponse(status=404)
    deposited = as_json(Account.objects.get(id=id))
    # While the row is locked: deposits arrive in the cache in the order of the database.
    cache.set(id, deposited, LIFETIME)
    return JsonResponse(deposited, status=201)


def as_json(account):
    return {"id": account.id, "name": account.name, "balanceCents": account.balance_cents}
