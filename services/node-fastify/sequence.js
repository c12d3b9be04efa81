'use strict';

const numbers = require('./numbers');

module.exports = async (app) => {
  app.get('/api/count/:n', operation(numbers.count));
  app.get('/api/fib/:n', operation(numbers.fib));
};

function operation(compute) {
  return async (request, reply) => {
    const n = numbers.parse(request.params.n);
    reply.type('text/plain');
    if (n !== undefined) return compute(n);
    reply.code(400);
    return 'n must be an integer from 0 to 10000';
  };
}
