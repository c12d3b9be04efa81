import { constants } from 'node:crypto';
import { start } from './cluster.cjs';
import { count, fib, parse } from './numbers.cjs';
import { snoop } from './snoop.js';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const servers = [listen(process.env.PORT || 8080)];
  if (process.env.TLS_PORT) servers.push(listen(process.env.TLS_PORT, identity()));
  process.on('SIGTERM', () => {
    Promise.all(servers.map((server) => server.stop())).then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});

function listen(port, tls) {
  return Bun.serve({
    hostname: process.env.HOST || '127.0.0.1',
    port,
    tls,
    // The kernel shares the connections out among the workers.
    reusePort: true,
    // Otherwise a connection that is quiet for ten seconds is closed.
    idleTimeout: 0,
    routes: {
      '/': { GET: snoop },
      '/api/test': { GET: hello },
      '/api/count/:n': { GET: (request) => answer(count, request.params.n) },
      '/api/fib/:n': { GET: (request) => answer(fib, request.params.n) },
    },
    // Routes compare paths as they were sent, but /api/%74est names the same resource as /api/test.
    fetch(request) {
      const path = decoded(new URL(request.url).pathname);
      const sequence = /^\/api\/(count|fib)\/([^/]*)$/.exec(path);
      if (request.method !== 'GET') return reply('only GET', 405);
      if (path === '/api/test') return hello();
      if (sequence !== null) return answer(sequence[1] === 'fib' ? fib : count, sequence[2]);
      return reply('no such path', 404);
    },
  });
}

function identity() {
  return {
    cert: Bun.file(process.env.TLS_CERT),
    key: Bun.file(process.env.TLS_KEY),
    // Each worker has its own keys for tickets, so another could not resume what one began.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

function answer(compute, text) {
  const n = parse(text);
  return n === undefined ? reply('n must be an integer from 0 to 10000', 400) : reply(compute(n));
}

function hello() {
  return reply('Hello, World!');
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function reply(body, status = 200) {
  return new Response(body, { status, headers: { 'Content-Type': 'text/plain' } });
}
