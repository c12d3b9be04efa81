'use strict';

const fs = require('fs');
const fastify = require('fastify');
const websocket = require('@fastify/websocket');
const { start } = require('./cluster');
const room = require('./room');

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;
const LONGEST_MESSAGE = 1024 * 1024;

room.relay();
start(async () => {
  const servers = [[create(), Number(process.env.PORT) || 8080]];
  if (process.env.TLS_PORT) servers.push([create(secure()), Number(process.env.TLS_PORT)]);

  process.on('SIGTERM', () => {
    Promise.all(servers.map(([app]) => app.close())).then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
  for (const [app, port] of servers) await app.listen({ host: process.env.HOST || '127.0.0.1', port });
});

function create(options) {
  const app = fastify(options);
  app.get('/api/test', async (request, reply) => {
    reply.type('text/plain');
    return 'Hello, World!';
  });
  app.register(require('./sequence'));
  app.register(require('./snoop'));
  app.register(require('./catalog'));
  app.register(require('./upload'));
  // Pings, closes and what no message may be are answered by ws, below the plugin. Nothing is compressed unless it is asked to.
  app.register(websocket, { options: { maxPayload: LONGEST_MESSAGE } });
  app.register(require('./echo'));
  app.register(room);
  return app;
}

// HTTP/2 or HTTP/1.1, as the client prefers.
function secure() {
  const identity = { cert: fs.readFileSync(process.env.TLS_CERT), key: fs.readFileSync(process.env.TLS_KEY) };
  return { http2: true, https: { allowHTTP1: true, ...identity } };
}
