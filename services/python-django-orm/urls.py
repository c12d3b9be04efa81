from django.urls import path

from shop import accounts, fortunes, orders

urlpatterns = [
    path("orders", orders.Orders.as_view()),
    path("orders/<int:id>", orders.OneOrder.as_view()),
    path("fortunes", fortunes.fortunes),
    path("account/<str:id>", accounts.account),
    path("account/<str:id>/deposits", accounts.deposits),
]
