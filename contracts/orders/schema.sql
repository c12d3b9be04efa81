create table customer (
    id int primary key,
    name text not null,
    email text not null
);

create table product (
    id int primary key,
    name text not null,
    price_cents int not null check (price_cents > 0),
    stock int not null
);

create table orders (
    id bigint generated always as identity primary key,
    customer_id int not null references customer,
    status text not null check (status in ('open', 'paid', 'shipped', 'cancelled')),
    note text,
    total_cents bigint not null,
    version int not null default 1,
    created_at timestamptz not null default now()
);
create index orders_of_customer on orders (customer_id, id);

create table order_line (
    order_id bigint not null references orders on delete cascade,
    line int not null,
    product_id int not null references product,
    quantity int not null,
    price_cents int not null,
    primary key (order_id, line)
);
