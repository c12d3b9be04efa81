import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { serve } from '@hono/node-server';
import { app } from './app.js';
import { start } from './cluster.cjs';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const servers = [listen(Number(process.env.PORT) || 8080)];
  if (process.env.TLS_PORT) servers.push(listen(Number(process.env.TLS_PORT), secure()));
  process.on('SIGTERM', async () => {
    setTimeout(() => process.exit(0), GRACE_MS);
    await Promise.all(servers.map((server) => new Promise((closed) => {
      server.close(closed);
      server.closeIdleConnections?.();
    })));
    process.exit(0);
  });
});

function listen(port, options) {
  return serve({ fetch: app.fetch, hostname: process.env.HOST || '127.0.0.1', port, ...options });
}

// HTTP/2 or HTTP/1.1, as the client prefers.
function secure() {
  const identity = { cert: readFileSync(process.env.TLS_CERT), key: readFileSync(process.env.TLS_KEY) };
  return { createServer: createSecureServer, serverOptions: { allowHTTP1: true, ...identity } };
}
