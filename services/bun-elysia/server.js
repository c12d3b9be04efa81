import { Elysia } from 'elysia';
import { start } from './cluster.cjs';
import { count, fib, parse } from './numbers.cjs';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const app = new Elysia({
    // A path is exact in the contracts.
    strictPath: true,
    serve: {
      // The kernel shares the connections out among the workers.
      reusePort: true,
      // Otherwise a connection that is quiet for ten seconds is closed.
      idleTimeout: 0,
    },
  })
    .get('/api/test', () => 'Hello, World!')
    .get('/api/count/:n', ({ params, set, status }) => answer(count, params.n, set, status))
    .get('/api/fib/:n', ({ params, set, status }) => answer(fib, params.n, set, status))
    .onError(({ code, request, set }) => (code === 'NOT_FOUND' ? unescaped(request, set) : undefined));

  // Routes compare paths as they were sent, but /api/%74est names the same resource as /api/test.
  async function unescaped(request, set) {
    const url = request.url.replace(/%[0-9A-Fa-f]{2}/g, (encoded) => {
      const character = String.fromCharCode(parseInt(encoded.slice(1), 16));
      return /[A-Za-z0-9._~-]/.test(character) ? character : encoded;
    });
    if (url === request.url) return undefined;
    const response = await app.handle(new Request(url, request));
    set.status = response.status;
    return response;
  }

  app.listen({ hostname: process.env.HOST || '127.0.0.1', port: process.env.PORT || 8080 });
  process.on('SIGTERM', () => {
    app.stop().then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});

function answer(compute, written, set, status) {
  const n = parse(written);
  if (n === undefined) return status(400, 'n must be an integer from 0 to 10000');
  // A text is text/plain anyway, but for the empty one.
  set.headers['content-type'] = 'text/plain';
  return compute(n);
}
