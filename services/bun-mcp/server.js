// A server of the Model Context Protocol on Bun.serve: fetch.mjs in several processes.
import { start } from './cluster.cjs';
import { fetch } from './fetch.mjs';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const server = Bun.serve({
    hostname: process.env.HOST || '127.0.0.1',
    port: process.env.PORT || 8080,
    // The kernel shares the connections out among the workers.
    reusePort: true,
    // Otherwise a connection that is quiet for ten seconds is closed.
    idleTimeout: 0,
    fetch,
  });
  process.on('SIGTERM', () => {
    server.stop().then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});
