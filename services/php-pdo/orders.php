<?php

declare(strict_types=1);

require 'new_order.php';

const TRANSITIONS = ['open' => ['paid', 'cancelled'], 'paid' => ['shipped', 'cancelled'], 'shipped' => [], 'cancelled' => []];

function create_order(): void
{
    $new = NewOrder::read(body());
    $order = transaction(function () use ($new) {
        $known = query('select from customer where id = ?::bigint', [$new->customer])->rowCount() > 0;
        $prices = prices(array_column($new->lines, 'productId'));
        $faults = $new->faults($known, $prices);
        return $faults === [] ? store($new, $prices) : ['errors' => $faults];
    });
    if (isset($order['errors'])) {
        json($order, 422);
    } else {
        header("Location: /orders/{$order['id']}");
        json($order, 201);
    }
}

/** The prices of those of these products that there are. */
function prices(array $products): array
{
    $ids = '{' . implode(',', $products) . '}';
    return query('select id, price_cents from product where id = any(?::bigint[])', [$ids])->fetchAll(PDO::FETCH_KEY_PAIR);
}

function store(NewOrder $new, array $prices): array
{
    $lines = [];
    $total = 0;
    foreach ($new->lines as $line) {
        $price = $prices[$line->productId];
        $lines[] = ['product_id' => $line->productId, 'quantity' => $line->quantity, 'price_cents' => $price];
        $total += $price * $line->quantity;
    }
    $order = query(
        "insert into orders (customer_id, status, note, total_cents) values (?, 'open', ?, ?) returning *",
        [$new->customer, $new->note, $total],
    )->fetch(PDO::FETCH_ASSOC);
    $values = [];
    foreach ($lines as $number => $line) {
        array_push($values, $order['id'], $number + 1, ...array_values($line));
    }
    query(
        'insert into order_line (order_id, line, product_id, quantity, price_cents) values '
            . implode(', ', array_fill(0, count($lines), '(?, ?, ?, ?, ?)')),
        $values,
    );
    return whole($order, $lines);
}

function get_order(int $id): void
{
    show(find($id));
}

function list_orders(): void
{
    $customer = parameter('customer', 0);
    $limit = parameter('limit', 1, 50, default: 20);
    $after = parameter('after', 0, default: 0);
    // One more than asked for tells whether there is a next page.
    $rows = query(
        'select * from orders where customer_id = ?::bigint and id > ? order by id limit ?',
        [$customer, $after, $limit + 1],
    )->fetchAll(PDO::FETCH_ASSOC);
    $items = array_map(item(...), array_slice($rows, 0, $limit));
    json(['items' => $items, 'next' => count($rows) > $limit ? end($items)['id'] : null]);
}

function set_status(int $id): void
{
    $version = $_SERVER['HTTP_IF_MATCH'] ?? throw new Refusal(428);
    $status = body()->status ?? null;
    show(transaction(function () use ($id, $version, $status) {
        $order = locked($id);
        if ($version !== "\"{$order['version']}\"") {
            throw new Refusal(412);
        }
        if (!in_array($status, TRANSITIONS[$order['status']], true)) {
            throw new Refusal(409);
        }
        query('update orders set status = ?, version = version + 1 where id = ?', [$status, $id]);
        return find($id);
    }));
}

function delete_order(int $id): void
{
    transaction(function () use ($id) {
        if (locked($id)['status'] !== 'open') {
            throw new Refusal(409);
        }
        query('delete from orders where id = ?', [$id]);
    });
    http_response_code(204);
}

/** Nobody else changes it until the end of the transaction. */
function locked(int $id): array
{
    $order = query('select status, version from orders where id = ? for update', [$id])->fetch(PDO::FETCH_ASSOC);
    return $order ?: throw new Refusal(404);
}

/** In one statement: between two, a deletion would leave an order without lines. */
function find(int $id): array
{
    $rows = query(
        'select o.*, l.product_id, l.quantity, l.price_cents from orders o join order_line l on l.order_id = o.id'
            . ' where o.id = ? order by l.line',
        [$id],
    )->fetchAll(PDO::FETCH_ASSOC);
    return $rows === [] ? throw new Refusal(404) : whole($rows[0], $rows);
}

function show(array $order): void
{
    header("ETag: \"{$order['version']}\"");
    json($order);
}

function item(array $row): array
{
    return [
        'id' => $row['id'],
        'customerId' => $row['customer_id'],
        'status' => $row['status'],
        'note' => $row['note'],
        'totalCents' => $row['total_cents'],
        'version' => $row['version'],
        'createdAt' => (new DateTimeImmutable($row['created_at']))->format('Y-m-d\TH:i:s.uP'),
    ];
}

function whole(array $row, array $lines): array
{
    return item($row) + ['lines' => array_map(fn (array $line) => [
        'productId' => $line['product_id'],
        'quantity' => $line['quantity'],
        'priceCents' => $line['price_cents'],
    ], $lines)];
}
