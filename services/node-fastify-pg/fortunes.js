'use strict';

const { pool } = require('./database');

// All fortunes and one more, sorted by message.
exports.read = async function read(nonce) {
  const { rows } = await pool.query('select id, message from fortune');
  rows.push({ id: 0, message: `Additional fortune: ${nonce}` });
  // Strings compare by units of UTF-16. Code points order as the bytes of UTF-8 do.
  const keyed = rows.map((row) => [Buffer.from(row.message), row]);
  keyed.sort(([a, x], [b, y]) => Buffer.compare(a, b) || x.id - y.id);
  return keyed.map(([, row]) => row);
};
