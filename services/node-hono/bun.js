import { app } from './app.js';
import { start } from './cluster.cjs';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const server = Bun.serve({
    fetch: app.fetch,
    hostname: process.env.HOST || '127.0.0.1',
    port: process.env.PORT || 8080,
    // The kernel shares the connections out among the workers.
    reusePort: true,
    // Otherwise a connection that is quiet for ten seconds is closed.
    idleTimeout: 0,
  });
  process.on('SIGTERM', () => {
    server.stop().then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});
