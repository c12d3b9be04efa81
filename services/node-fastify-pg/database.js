'use strict';

const os = require('node:os');
const pg = require('pg');

// Ids and cents are far from where a number loses a bit.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

// All processes together hold at most DATABASE_POOL connections.
const workers = Number(process.env.WORKERS) || os.availableParallelism();
const connections = Number(process.env.DATABASE_POOL) || 16;

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Math.max(1, Math.floor(connections / workers)),
});
// A connection that breaks while nobody uses it is replaced; without a listener it would end the process.
pool.on('error', () => {});
pool.on('connect', (client) => client.on('error', () => {}));

exports.pool = pool;

exports.transaction = async function transaction(work) {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    // A connection that cannot even roll back leaves the pool.
    await client.query('rollback').then(() => client.release(), (broken) => client.release(broken));
    throw error;
  }
};

// 503 while the database is away, starts or stops; 500 for what is our own fault.
exports.statusOf = function statusOf(error) {
  const away = error instanceof pg.DatabaseError
    ? /^(08|53|57)/.test(error.code)
    : /^(ECONN|EPIPE)/.test(error.code) || /^Connection terminated/.test(error.message);
  return away ? 503 : 500;
};
