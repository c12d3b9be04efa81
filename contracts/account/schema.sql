create table account (
    id int primary key,
    name text not null,
    balance_cents bigint not null
);
