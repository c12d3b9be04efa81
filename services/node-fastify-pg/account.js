'use strict';

const Redis = require('ioredis');
const { pool } = require('./database');
const { Refusal } = require('./refusal');
const { claimsOf, may } = require('./token');

const CACHED_MS = 1000;
const LARGEST_DEPOSIT = 1000000;
const COLUMNS = 'id, name, balance_cents as "balanceCents"';

module.exports = async (app) => {
  // Without its cache the service goes on, so nothing waits for it.
  const cache = new Redis(process.env.REDIS_URL, { enableOfflineQueue: false, maxRetriesPerRequest: 0 });
  cache.on('error', () => {});

  app.get('/account/:id', { onRequest: authorize }, async (request, reply) => {
    reply.type('application/json');
    return read(cache, accountId(request));
  });

  app.post('/account/:id/deposits', { onRequest: authorize }, async (request, reply) => {
    const amount = request.body?.amountCents;
    if (!Number.isInteger(amount) || amount < 1 || amount > LARGEST_DEPOSIT) {
      throw new Refusal(422, 'amountCents must be an integer from 1 to 1000000');
    }
    reply.code(201);
    return deposit(cache, accountId(request), amount);
  });
};

async function authorize(request, reply) {
  reply.header('WWW-Authenticate', 'Bearer realm="account", error="invalid_token"');
  const claims = claimsOf(request.headers.authorization);
  reply.removeHeader('WWW-Authenticate');
  if (!may(claims, request.params.id)) throw new Refusal(403, 'the token is for another account');
}

// An account as JSON, through the cache.
async function read(cache, id) {
  const cached = await cache.get(key(id)).catch(() => null);
  if (cached) return cached;
  const body = JSON.stringify(await row(`select ${COLUMNS} from account where id = $1::bigint`, [id]));
  // Not over the mark of a deposit that came after the row was read.
  await cache.set(key(id), body, 'PX', CACHED_MS, 'NX').catch(() => {});
  return body;
}

async function deposit(cache, id, amount) {
  const account = await row(
    `update account set balance_cents = balance_cents + $2 where id = $1::bigint returning ${COLUMNS}`,
    [id, amount],
  );
  // An empty mark, where a deletion would let a reader of the old row store it.
  await cache.set(key(id), '', 'PX', CACHED_MS).catch(() => {});
  return account;
}

async function row(sql, values) {
  const { rows } = await pool.query(sql, values);
  if (rows.length === 0) throw unknown();
  return rows[0];
}

function accountId(request) {
  const id = /^[0-9]+$/.test(request.params.id) ? Number(request.params.id) : NaN;
  if (!Number.isSafeInteger(id)) throw unknown();
  return id;
}

function unknown() {
  return new Refusal(404, 'no account has this id');
}

function key(id) {
  return `account:${id}`;
}
