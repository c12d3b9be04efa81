import { app } from './app.js';
import { start } from './cluster.cjs';

// The time for requests in flight after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const server = Bun.serve({
    fetch: app.fetch,
    hostname: process.env.HOST || '127.0.0.1',
    port: process.env.PORT || 8080,
    // The kernel distributes the connections among the workers.
    reusePort: true,
    // By default a connection is closed after ten idle seconds.
    idleTimeout: 0,
  });
  process.on('SIGTERM', () => {
    server.stop().then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});
