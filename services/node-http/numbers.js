'use strict';

const LARGEST_N = 10000;

// An integer from 0 to LARGEST_N, or undefined.
exports.parse = function parse(text) {
  const n = /^[0-9]+$/.test(text) ? Number(text) : Infinity;
  return n <= LARGEST_N ? n : undefined;
};

// The integers 1 to n, joined with a space.
exports.count = function count(n) {
  return Array.from({ length: n }, (_, i) => i + 1).join(' ');
};

// F(0) to F(n), joined with a space.
exports.fib = function fib(n) {
  const numbers = ['0'];
  let [a, b] = [0n, 1n];
  for (let i = 0; i < n; i++) {
    numbers.push(b);
    [a, b] = [b, a + b];
  }
  return numbers.join(' ');
};
