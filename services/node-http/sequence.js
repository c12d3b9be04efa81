'use strict';

const LARGEST_N = 10000;

function operation(compute) {
  return (request, response, text) => {
    const n = /^[0-9]+$/.test(text) ? Number(text) : Infinity;
    if (n > LARGEST_N) {
      response.writeHead(400, { 'Content-Type': 'text/plain' });
      response.end('n must be an integer from 0 to 10000');
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.end(compute(n));
  };
}

exports.count = operation((n) => {
  const numbers = new Array(n);
  for (let i = 0; i < n; i++) numbers[i] = i + 1;
  return numbers.join(' ');
});

exports.fib = operation((n) => {
  const numbers = ['0'];
  let [a, b] = [0n, 1n];
  for (let i = 0; i < n; i++) {
    numbers.push(b);
    [a, b] = [b, a + b];
  }
  return numbers.join(' ');
});
