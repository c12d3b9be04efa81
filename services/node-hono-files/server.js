import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import { start } from './cluster.cjs';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

const app = new Hono();
app.use('/files/*', serveStatic({
  root: process.env.FILES_DIR,
  rewriteRequestPath: (path) => path.replace(/^\/files/, ''),
  precompressed: process.env.PRECOMPRESSED === 'true',
}));

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
