-- Everything follows from :seed, so that the same number gives the same data.
select setseed((:seed % 1000003) / 1000003.0);

insert into customer
select i, 'Customer ' || md5(random()::text), 'c' || i || '@' || md5(random()::text) || '.example'
from generate_series(1, 1000) i;

insert into product
select i, 'Product ' || md5(random()::text), 100 + floor(random() * 99900)::int, 1 + floor(random() * 5000)::int
from generate_series(1, 1000) i;

-- Some products were cheaper when they were ordered.
create temporary table drawn as
select i as id,
       1 + floor(random() * 1000)::int as customer_id,
       (array['open', 'paid', 'shipped', 'cancelled'])[1 + floor(random() * 4)::int] as status,
       case floor(random() * 4)::int
           when 0 then null
           when 1 then 'Größe "L" – ' || md5(random()::text)
           when 2 then '<b>ring</b> & ''knock'' ' || md5(random()::text)
           else 'お届けは玄関まで 📦 ' || md5(random()::text)
       end as note,
       1 + floor(random() * 5)::int as lines,
       now() - random() * interval '900 days' as created_at
from generate_series(1, 100000) i;

create temporary table drawn_line as
select x.order_id, x.line, p.id as product_id, x.quantity,
       greatest(1, p.price_cents - case when x.quantity % 3 = 0 then 50 else 0 end) as price_cents
from (
    select d.id as order_id, n as line, 1 + floor(random() * 1000)::int as product_id, 1 + floor(random() * 20)::int as quantity
    from drawn d, generate_series(1, d.lines) n
) x
join product p on p.id = x.product_id;

insert into orders (customer_id, status, note, total_cents, version, created_at)
select d.customer_id, d.status, d.note, t.total,
       case d.status when 'open' then 1 when 'shipped' then 3 else 2 end, d.created_at
from drawn d
join (select order_id, sum(quantity * price_cents) as total from drawn_line group by order_id) t on t.order_id = d.id
order by d.id;

insert into order_line
select order_id, line, product_id, quantity, price_cents from drawn_line order by order_id, line;

drop table drawn, drawn_line;
