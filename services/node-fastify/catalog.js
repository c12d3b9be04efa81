'use strict';

const items = require('./items');

module.exports = async (app) => {
  await app.register(require('@fastify/compress'));

  app.get('/catalog', async (request, reply) => {
    const list = items.parse(request.query);
    if (list !== undefined) return list;
    reply.code(400).type('text/plain');
    return 'from must be an integer from 1 to 1000000, count one from 1 to 500';
  });
};
