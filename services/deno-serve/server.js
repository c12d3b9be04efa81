import { count, fib, parse } from './numbers.cjs';
import { events } from './events.js';
import { snoop } from './snoop.js';

// `deno serve --parallel` runs this module once for each worker.
export default { fetch };

// Replies are whole in the moment in which their requests are read: what is being sent gets a tenth of a second.
Deno.addSignalListener('SIGTERM', () => setTimeout(() => Deno.exit(0), 100));

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
