'use strict';

const fastify = require('fastify');
const { start } = require('./cluster');

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(async () => {
  const app = fastify();
  app.get('/api/test', async (request, reply) => {
    reply.type('text/plain');
    return 'Hello, World!';
  });
  app.register(require('./sequence'));
  app.register(require('./snoop'));
  app.register(require('./catalog'));
  app.register(require('./upload'));

  process.on('SIGTERM', () => {
    app.close().then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
  await app.listen({ host: process.env.HOST || '127.0.0.1', port: Number(process.env.PORT) || 8080 });
});
