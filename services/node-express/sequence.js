'use strict';

const numbers = require('./numbers');

module.exports = (app) => {
  app.get('/api/count/:n', operation(numbers.count));
  app.get('/api/fib/:n', operation(numbers.fib));
};

function operation(compute) {
  return (request, response) => {
    const n = numbers.parse(request.params.n);
    response.type('text/plain');
    if (n === undefined) response.status(400).send('n must be an integer from 0 to 10000');
    else response.send(compute(n));
  };
}
