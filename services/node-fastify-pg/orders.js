'use strict';

const { pool, transaction } = require('./database');
const { check } = require('./draft');
const { Refusal } = require('./refusal');

const COLUMNS = `o.id, o.customer_id as "customerId", o.status, o.note, o.total_cents as "totalCents", o.version,
  o.created_at as "createdAt"`;

// What an order of a status may become.
const TRANSITIONS = { open: ['paid', 'cancelled'], paid: ['shipped', 'cancelled'], shipped: [], cancelled: [] };

exports.get = (id) => read(pool, id);

// An order and its lines in one statement, so that nothing changes in between.
async function read(client, id, lock = '') {
  const { rows } = await client.query(
    `select ${COLUMNS}, l.product_id as "productId", l.quantity, l.price_cents as "priceCents"
     from orders o join order_line l on l.order_id = o.id where o.id = $1 order by l.line ${lock}`,
    [id],
  );
  if (rows.length === 0) throw unknown();
  const { productId, quantity, priceCents, ...order } = rows[0];
  order.lines = rows.map((row) => ({ productId: row.productId, quantity: row.quantity, priceCents: row.priceCents }));
  return order;
}

// One order more is read than the page holds: it tells whether another page follows.
exports.list = async function list(customer, after, limit) {
  const { rows } = await pool.query(
    `select ${COLUMNS} from orders o where o.customer_id = $1::bigint and o.id > $2 order by o.id limit $3`,
    [customer, after, limit + 1],
  );
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? items[limit - 1].id : null };
};

exports.create = (draft) => transaction(async (client) => {
  const products = draft.lines.map(({ productId }) => productId);
  const found = await client.query('select id, price_cents from product where id = any($1::bigint[])', [products]);
  const prices = new Map(found.rows.map((row) => [row.id, row.price_cents]));
  const customers = await client.query('select from customer where id = $1::bigint', [draft.customerId]);
  const faults = check(draft, customers.rowCount === 1, prices);
  if (faults.length > 0) throw new Refusal(422, 'the order has faults', faults);

  const lines = draft.lines.map((line) => ({ ...line, priceCents: prices.get(line.productId) }));
  const total = lines.reduce((sum, { quantity, priceCents }) => sum + quantity * priceCents, 0);
  const stored = await client.query(
    `insert into orders as o (customer_id, status, note, total_cents) values ($1, 'open', $2, $3) returning ${COLUMNS}`,
    [draft.customerId, draft.note, total],
  );
  const [order] = stored.rows;
  await client.query(
    `insert into order_line (order_id, line, product_id, quantity, price_cents)
     select $1, n, p, q, c from unnest($2::int[], $3::int[], $4::int[]) with ordinality as t (p, q, c, n)`,
    [order.id, products, lines.map((line) => line.quantity), lines.map((line) => line.priceCents)],
  );
  return { ...order, lines };
});

// Changes an order whose version is still the one that `isCurrent` knows.
exports.setStatus = (id, status, isCurrent) => transaction(async (client) => {
  const order = await read(client, id, 'for update of o');
  if (!isCurrent(order.version)) throw new Refusal(412, 'the order has another version');
  if (!TRANSITIONS[order.status].includes(status)) throw conflict();
  const { rows } = await client.query(
    `update orders as o set status = $2, version = version + 1 where id = $1 returning ${COLUMNS}`,
    [id, status],
  );
  return { ...rows[0], lines: order.lines };
});

exports.remove = async function remove(id) {
  const deleted = await pool.query("delete from orders where id = $1 and status = 'open'", [id]);
  if (deleted.rowCount > 0) return;
  const { rowCount } = await pool.query('select from orders where id = $1', [id]);
  throw rowCount > 0 ? conflict() : unknown();
};

// An id as a path has it.
exports.parseId = function parseId(text) {
  const id = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw unknown();
  return id;
};

// The numbers of a query of `list`.
exports.parsePage = function parsePage({ customer, after = '0', limit = '20' }) {
  const page = [customer, after, limit].map((text) => (/^[0-9]+$/.test(text) ? Number(text) : NaN));
  if (!page.every(Number.isSafeInteger) || page[2] < 1 || page[2] > 50) {
    throw new Refusal(400, 'customer and after are integers, limit is one from 1 to 50');
  }
  return page;
};

exports.tagOf = (version) => `"${version}"`;

function unknown() {
  return new Refusal(404, 'no order has this id');
}

function conflict() {
  return new Refusal(409, 'the status of the order does not allow this');
}
