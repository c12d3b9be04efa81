'use strict';

const fastify = require('fastify');
const { start } = require('./cluster');

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(async () => {
  const app = fastify();
  app.register(require('@fastify/static'), {
    root: process.env.FILES_DIR,
    prefix: '/files/',
    preCompressed: process.env.PRECOMPRESSED === 'true',
  });

  process.on('SIGTERM', () => {
    app.close().then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
  await app.listen({ host: process.env.HOST || '127.0.0.1', port: Number(process.env.PORT) || 8080 });
});
