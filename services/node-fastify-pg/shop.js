'use strict';

const orders = require('./orders');
const { readDraft } = require('./draft');
const { Refusal } = require('./refusal');

module.exports = async (app) => {
  app.post('/orders', async (request, reply) => {
    const order = await orders.create(readDraft(request.body ?? {}));
    reply.code(201).header('Location', `/orders/${order.id}`);
    return tagged(reply, order);
  });

  app.get('/orders', (request) => orders.list(...orders.parsePage(request.query)));

  app.get('/orders/:id', async (request, reply) => tagged(reply, await orders.get(orders.parseId(request.params.id))));

  app.patch('/orders/:id', async (request, reply) => {
    const condition = request.headers['if-match'];
    if (condition === undefined) throw new Refusal(428, 'If-Match is missing');
    const isCurrent = (version) => condition === orders.tagOf(version);
    return tagged(reply, await orders.setStatus(orders.parseId(request.params.id), request.body?.status, isCurrent));
  });

  app.delete('/orders/:id', async (request, reply) => {
    await orders.remove(orders.parseId(request.params.id));
    reply.code(204);
  });
};

function tagged(reply, order) {
  reply.header('ETag', orders.tagOf(order.version));
  return order;
}
