'use strict';

const Hapi = require('@hapi/hapi');
const { start } = require('./cluster');
const numbers = require('./numbers');

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(async () => {
  const server = Hapi.server({
    host: process.env.HOST || '127.0.0.1',
    port: process.env.PORT || 8080,
    // By default a reply without a body is 204.
    routes: { response: { emptyStatusCode: 200 } },
  });
  server.route([
    { method: 'GET', path: '/api/test', handler: (request, h) => text(h, 'Hello, World!') },
    { method: 'GET', path: '/api/count/{n}', handler: operation(numbers.count) },
    { method: 'GET', path: '/api/fib/{n}', handler: operation(numbers.fib) },
  ]);
  process.on('SIGTERM', () => {
    server.stop({ timeout: GRACE_MS }).then(() => process.exit(0));
  });
  await server.start();
});

function operation(compute) {
  return (request, h) => {
    const n = numbers.parse(request.params.n);
    return n === undefined ? text(h, 'n must be an integer from 0 to 10000').code(400) : text(h, compute(n));
  };
}

// A string without a type is HTML for hapi.
function text(h, body) {
  return h.response(body).type('text/plain');
}
