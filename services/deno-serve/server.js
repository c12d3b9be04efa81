import { start } from './cluster.js';
import { answer, count, fib } from './sequence.js';
import { snoop } from './snoop.js';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const server = Deno.serve({
    hostname: Deno.env.get('HOST') || '127.0.0.1',
    port: Number(Deno.env.get('PORT')) || 8080,
    // The kernel shares the connections out among the workers.
    reusePort: true,
    // Otherwise it writes its address to the console.
    onListen() {},
  }, fetch);
  Deno.addSignalListener('SIGTERM', () => {
    server.shutdown().then(() => Deno.exit(0));
    setTimeout(() => Deno.exit(0), GRACE_MS);
  });
});

function fetch(request) {
  if (request.method !== 'GET' && request.method !== 'HEAD') return text('only GET', 405);
  const path = decoded(new URL(request.url).pathname);
  if (path === '/api/test') return text('Hello, World!');
  if (path === '/') return snoop(request);
  const sequence = /^\/api\/(count|fib)\/([^/]*)$/.exec(path);
  if (sequence !== null) return answer(sequence[1] === 'fib' ? fib : count, sequence[2]);
  return text('no such path', 404);
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function text(body, status = 200) {
  return new Response(body, { status, headers: { 'Content-Type': 'text/plain' } });
}
