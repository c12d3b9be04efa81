'use strict';

const fastify = require('fastify');
const { start } = require('./cluster');
const { pool, statusOf } = require('./database');
const { Refusal } = require('./refusal');

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(async () => {
  const app = fastify();
  app.setErrorHandler(refuse);
  app.register(require('./shop'));
  app.register(require('./page'));
  // Only the contract `account` has a cache beside its database.
  if (process.env.REDIS_URL) app.register(require('./account'));
  app.addHook('onClose', () => pool.end());

  process.on('SIGTERM', () => {
    app.close().then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
  await app.listen({ host: process.env.HOST || '127.0.0.1', port: Number(process.env.PORT) || 8080 });
});

function refuse(error, request, reply) {
  if (error instanceof Refusal && error.faults) return reply.code(error.status).send({ errors: error.faults });
  // Fastify's own errors carry a status, too: of a body that is no JSON, say.
  const status = error.status ?? error.statusCode ?? statusOf(error);
  reply.code(status).type('text/plain').send(status < 500 ? error.message : 'try again later');
}
