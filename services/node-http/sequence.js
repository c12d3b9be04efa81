'use strict';

const { send } = require('./hello');
const numbers = require('./numbers');

const operation = (compute) => (request, response, text) => {
  const n = numbers.parse(text);
  if (n === undefined) send(response, 400, 'text/plain', 'n must be an integer from 0 to 10000');
  else send(response, 200, 'text/plain', compute(n));
};

exports.count = operation(numbers.count);
exports.fib = operation(numbers.fib);
