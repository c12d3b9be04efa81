'use strict';

const LARGEST_N = 10000;

module.exports = async (app) => {
  app.get('/api/count/:n', operation(count));
  app.get('/api/fib/:n', operation(fib));
};

function operation(compute) {
  return async (request, reply) => {
    const n = /^[0-9]+$/.test(request.params.n) ? Number(request.params.n) : Infinity;
    reply.type('text/plain');
    if (n <= LARGEST_N) return compute(n);
    reply.code(400);
    return 'n must be an integer from 0 to 10000';
  };
}

function count(n) {
  return Array.from({ length: n }, (_, i) => i + 1).join(' ');
}

function fib(n) {
  const numbers = ['0'];
  let [a, b] = [0n, 1n];
  for (let i = 0; i < n; i++) {
    numbers.push(b);
    [a, b] = [b, a + b];
  }
  return numbers.join(' ');
}
