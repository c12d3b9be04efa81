import { count, fib, parse } from './numbers.cjs';
import { events } from './events.js';
import { snoop } from './snoop.js';

// `deno serve --parallel` runs this module once for each worker.
export default { fetch };

// In HTTP/2 or HTTP/1.1, as the client prefers.
if (Deno.env.has('TLS_PORT')) {
  Deno.serve({
    hostname: Deno.env.get('HOST') ?? '127.0.0.1',
    port: Number(Deno.env.get('TLS_PORT')),
    cert: Deno.readTextFileSync(Deno.env.get('TLS_CERT')),
    key: Deno.readTextFileSync(Deno.env.get('TLS_KEY')),
    onListen() {},
  }, (request) => request.method === 'HEAD' ? bodiless(fetch(request)) : fetch(request));
}

// Replies are whole in the moment in which their requests are read: what is being sent gets a tenth of a second.
Deno.addSignalListener('SIGTERM', () => setTimeout(() => Deno.exit(0), 100));

// In HTTP/2, Deno sends the body of a reply to HEAD, which clients take for an error of the protocol.
function bodiless(reply) {
  return new Response(null, reply);
}

function fetch(request) {
  if (request.method !== 'GET' && request.method !== 'HEAD') return reply('only GET', 405);
  const path = decoded(new URL(request.url).pathname);
  if (path === '/api/test') return reply('Hello, World!');
  if (path === '/') return snoop(request);
  if (path === '/events') return events(request) ?? reply('count must be 1 to 10000, gap_us 0 to 1000000', 400);
  const sequence = /^\/api\/(count|fib)\/([^/]*)$/.exec(path);
  if (sequence !== null) return answer(sequence[1] === 'fib' ? fib : count, sequence[2]);
  return reply('no such path', 404);
}

function answer(compute, text) {
  const n = parse(text);
  return n === undefined ? reply('n must be an integer from 0 to 10000', 400) : reply(compute(n));
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
