const LARGEST_N = 10000;

export function answer(compute, text) {
  const n = /^[0-9]+$/.test(text) ? Number(text) : Infinity;
  const headers = { 'Content-Type': 'text/plain' };
  if (n <= LARGEST_N) return new Response(compute(n), { headers });
  return new Response('n must be an integer from 0 to 10000', { status: 400, headers });
}

export function count(n) {
  return Array.from({ length: n }, (_, i) => i + 1).join(' ');
}

export function fib(n) {
  const numbers = ['0'];
  let [a, b] = [0n, 1n];
  for (let i = 0; i < n; i++) {
    numbers.push(b);
    [a, b] = [b, a + b];
  }
  return numbers.join(' ');
}
