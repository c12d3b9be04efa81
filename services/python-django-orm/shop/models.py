from django.db import models


class Customer(models.Model):
    name = models.TextField()
    email = models.TextField()

    class Meta:
        managed = False
        db_table = "customer"


class Product(models.Model):
    name = models.TextField()
    price_cents = models.IntegerField()
    stock = models.IntegerField()

    class Meta:
        managed = False
        db_table = "product"


class Order(models.Model):
    id = models.BigAutoField(primary_key=True)
    customer = models.ForeignKey(Customer, models.DO_NOTHING)
    status = models.TextField(default="open")
    note = models.TextField(null=True)
    total_cents = models.BigIntegerField()
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        managed = False
        db_table = "orders"


class OrderLine(models.Model):
    pk = models.CompositePrimaryKey("order_id", "line")
    # The database deletes the lines of an order with it.
    order = models.ForeignKey(Order, models.DO_NOTHING, related_name="lines")
    line = models.IntegerField()
    product = models.ForeignKey(Product, models.DO_NOTHING)
    quantity = models.IntegerField()
    price_cents = models.IntegerField()

    class Meta:
        managed = False
        db_table = "order_line"
        ordering = ["line"]


class Fortune(models.Model):
    message = models.TextField()

    class Meta:
        managed = False
        db_table = "fortune"


class Account(models.Model):
    name = models.TextField()
    balance_cents = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "account"
