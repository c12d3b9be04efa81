-- Keys come after the rows: that is several times as fast.
alter table order_line add primary key (order_id, line);
create index orders_of_customer on orders (customer_id, id);
alter table orders add foreign key (customer_id) references customer;
alter table order_line
    add foreign key (order_id) references orders on delete cascade,
    add foreign key (product_id) references product;
