from dataclasses import dataclass

from django.core.exceptions import BadRequest
from django.db import transaction
from django.db.models import F
from django.http import Http404, HttpResponse, JsonResponse
from django.views import View

from . import reading
from .models import Customer, Order, OrderLine, Product

TRANSITIONS = {("open", "paid"), ("paid", "shipped"), ("open", "cancelled"), ("paid", "cancelled")}


@dataclass
class NewLine:
    product_id: int
    quantity: int


@dataclass
class NewOrder:
    customer_id: int
    note: str | None
    lines: list[NewLine]

    @classmethod
    def read(cls, request):
        body = reading.json_object(request)
        note = body.get("note")
        lines = [reading.of_type(line, dict) for line in reading.of_type(body.get("lines"), list)]
        return cls(
            customer_id=reading.of_type(body.get("customerId"), int),
            note=None if note is None else reading.text(note),
            lines=[
                NewLine(reading.of_type(line.get("productId"), int), reading.of_type(line.get("quantity"), int))
                for line in lines
            ],
        )

    def faults(self, customer_is_known, products):
        """All that is wrong with it."""
        if not customer_is_known:
            yield {"field": "customerId", "code": "unknown"}
        if self.note is not None and len(self.note) > 500:
            yield {"field": "note", "code": "length"}
        if not 1 <= len(self.lines) <= 20:
            yield {"field": "lines", "code": "range"}
        for number, line in enumerate(self.lines):
            if line.product_id not in products:
                yield {"field": f"lines[{number}].productId", "code": "unknown"}
            if not 1 <= line.quantity <= 1000:
                yield {"field": f"lines[{number}].quantity", "code": "range"}


class Orders(View):
    def get(self, request):
        customer = reading.parameter(request, "customer")
        limit = reading.parameter(request, "limit", "20")
        after = reading.parameter(request, "after", "0")
        if not 1 <= limit <= 50:
            raise BadRequest
        # One more than asked for tells whether there is a next page.
        found = list(Order.objects.filter(customer=customer, id__gt=after).order_by("id")[: limit + 1])
        page = found[:limit]
        return JsonResponse(
            {"items": [item(order) for order in page], "next": page[-1].id if len(found) > limit else None}
        )

    @transaction.atomic
    def post(self, request):
        new = NewOrder.read(request)
        known = Customer.objects.filter(id=new.customer_id).exists()
        products = Product.objects.in_bulk({line.product_id for line in new.lines})
        if faults := list(new.faults(known, products)):
            return JsonResponse({"errors": faults}, status=422)

        prices = [products[line.product_id].price_cents for line in new.lines]
        order = Order.objects.create(
            customer_id=new.customer_id,
            note=new.note,
            total_cents=sum(price * line.quantity for price, line in zip(prices, new.lines)),
        )
        lines = OrderLine.objects.bulk_create(
            OrderLine(order=order, line=number, product_id=line.product_id, quantity=line.quantity, price_cents=price)
            for number, (price, line) in enumerate(zip(prices, new.lines), 1)
        )
        return JsonResponse(whole(order, lines), status=201, headers={"Location": f"/orders/{order.id}"})


class OneOrder(View):
    def get(self, request, id):
        return found(id)

    @transaction.atomic
    def patch(self, request, id):
        version = request.headers.get("If-Match")
        if version is None:
            return HttpResponse(status=428)
        status = reading.text(reading.json_object(request).get("status"))
        order = locked(id)
        if version != f'"{order.version}"':
            return HttpResponse(status=412)
        if (order.status, status) not in TRANSITIONS:
            return HttpResponse(status=409)
        Order.objects.filter(id=id).update(status=status, version=F("version") + 1)
        return found(id)

    @transaction.atomic
    def delete(self, request, id):
        order = locked(id)
        if order.status != "open":
            return HttpResponse(status=409)
        order.delete()
        return HttpResponse(status=204)


def locked(id):
    order = Order.objects.select_for_update().filter(id=id).first()
    if order is None:
        raise Http404
    return order


def found(id):
    order = Order.objects.prefetch_related("lines").filter(id=id).first()
    # Every order has lines: one without was deleted between the two queries.
    if order is None or not order.lines.all():
        raise Http404
    return JsonResponse(whole(order, order.lines.all()), headers={"ETag": f'"{order.version}"'})


def item(order):
    return {
        "id": order.id,
        "customerId": order.customer_id,
        "status": order.status,
        "note": order.note,
        "totalCents": order.total_cents,
        "version": order.version,
        "createdAt": order.created_at.isoformat(),
    }


def whole(order, lines):
    return item(order) | {
        "lines": [
            {"productId": line.product_id, "quantity": line.quantity, "priceCents": line.price_cents} for line in lines
        ]
    }
