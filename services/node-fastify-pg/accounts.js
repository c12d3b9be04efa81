'use strict';

const Redis = require('ioredis');
const { pool } = require('./database');
const { Refusal } = require('./refusal');

const CACHED_MS = 1000;
const LARGEST_DEPOSIT = 1000000;
const COLUMNS = 'id, name, balance_cents as "balanceCents"';

// Without its cache the service goes on, so nothing waits for it.
const cache = new Redis(process.env.REDIS_URL, { enableOfflineQueue: false, maxRetriesPerRequest: 0 });
cache.on('error', () => {});

// An account as JSON, through the cache.
exports.read = async function read(id) {
  const cached = await cache.get(key(id)).catch(() => null);
  if (cached) return cached;
  const body = JSON.stringify(await row(`select ${COLUMNS} from account where id = $1::bigint`, [number(id)]));
  // Not over the mark of a deposit that came after the row was read.
  await cache.set(key(id), body, 'PX', CACHED_MS, 'NX').catch(() => {});
  return body;
};

exports.deposit = async function deposit(id, amount) {
  if (!Number.isInteger(amount) || amount < 1 || amount > LARGEST_DEPOSIT) {
    throw new Refusal(422, 'amountCents must be an integer from 1 to 1000000');
  }
  const account = await row(
    `update account set balance_cents = balance_cents + $2 where id = $1::bigint returning ${COLUMNS}`,
    [number(id), amount],
  );
  // An empty mark, where a deletion would let a reader of the old row store it.
  await cache.set(key(id), '', 'PX', CACHED_MS).catch(() => {});
  return account;
};

async function row(sql, values) {
  const { rows } = await pool.query(sql, values);
  if (rows.length === 0) throw unknown();
  return rows[0];
}

function number(text) {
  const id = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw unknown();
  return id;
}

function unknown() {
  return new Refusal(404, 'no account has this id');
}

function key(id) {
  return `account:${number(id)}`;
}
