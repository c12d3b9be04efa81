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
    customer_id int not null,
    status text not null check (status in ('open', 'paid', 'shipped', 'cancelled')),
    note text,
    total_cents bigint not null,
    version int not null default 1,
    created_at timestamptz not null default now()
);

create table order_line (
    order_id bigint not null,
    line int not null,
    product_id int not null,
    quantity int not null,
    price_cents int not null
);
