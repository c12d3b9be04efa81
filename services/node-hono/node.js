import { serve } from '@hono/node-server';
import { app } from './app.js';
import { start } from './cluster.cjs';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const server = serve({
    fetch: app.fetch,
    hostname: process.env.HOST || '127.0.0.1',
    port: Number(process.env.PORT) || 8080,
  });
  process.on('SIGTERM', () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});
