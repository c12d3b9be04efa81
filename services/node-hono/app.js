import { Hono } from 'hono';
import { count, fib, parse } from './numbers.cjs';

export const app = new Hono();

app.get('/api/test', (c) => c.text('Hello, World!'));
app.get('/api/count/:n', operation(count));
app.get('/api/fib/:n', operation(fib));

// Bun gives an empty text no type of its own.
const TYPE = { 'Content-Type': 'text/plain' };

function operation(compute) {
  return (c) => {
    const n = parse(c.req.param('n'));
    return n === undefined ? c.text('n must be an integer from 0 to 10000', 400) : c.text(compute(n), 200, TYPE);
  };
}
