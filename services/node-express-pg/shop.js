'use strict';

const express = require('express');
const orders = require('./orders');
const { readDraft } = require('./draft');
const { Refusal } = require('./refusal');

module.exports = (app) => {
  const body = express.json();

  app.post('/orders', body, async (request, response) => {
    const order = await orders.create(readDraft(bodyOf(request)));
    response.status(201).location(`/orders/${order.id}`);
    send(response, order);
  });

  app.get('/orders', async (request, response) => {
    response.json(await orders.list(...orders.parsePage(request.query)));
  });

  app.get('/orders/:id', async (request, response) => {
    send(response, await orders.get(orders.parseId(request.params.id)));
  });

  app.patch('/orders/:id', body, async (request, response) => {
    const condition = request.get('If-Match');
    if (condition === undefined) throw new Refusal(428, 'If-Match is missing');
    const isCurrent = (version) => condition === orders.tagOf(version);
    send(response, await orders.setStatus(orders.parseId(request.params.id), bodyOf(request).status, isCurrent));
  });

  app.delete('/orders/:id', async (request, response) => {
    await orders.remove(orders.parseId(request.params.id));
    response.status(204).end();
  });
};

// Express takes an empty body for an empty object, and leaves what is no JSON undefined.
function bodyOf(request) {
  if (request.body === undefined || request.get('Content-Length') === '0') throw new Refusal(400, 'the body must be JSON');
  return request.body;
}

function send(response, order) {
  response.set('ETag', orders.tagOf(order.version)).json(order);
}
