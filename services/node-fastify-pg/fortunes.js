'use strict';

const { pool } = require('./database');

// All fortunes and an additional one, sorted by message.
exports.read = async function read(nonce) {
  const { rows } = await pool.query('select id, message from fortune');
  rows.push({ id: 0, message: `Additional fortune: ${nonce}` });
  // Strings compare by UTF-16 code units. The order of UTF-8 bytes is that of code points.
  const keyed = rows.map((row) => [Buffer.from(row.message), row]);
  keyed.sort(([a, x], [b, y]) => Buffer.compare(a, b) || x.id - y.id);
  return keyed.map(([, row]) => row);
};
