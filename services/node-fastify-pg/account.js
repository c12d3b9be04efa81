'use strict';

const accounts = require('./accounts');
const { Refusal } = require('./refusal');
const { claimsOf, may } = require('./token');

module.exports = async (app) => {
  app.get('/account/:id', { onRequest: authorize }, async (request, reply) => {
    reply.type('application/json');
    return accounts.read(request.params.id);
  });

  app.post('/account/:id/deposits', { onRequest: authorize }, async (request, reply) => {
    reply.code(201);
    return accounts.deposit(request.params.id, request.body?.amountCents);
  });
};

async function authorize(request, reply) {
  reply.header('WWW-Authenticate', 'Bearer realm="account", error="invalid_token"');
  const claims = claimsOf(request.headers.authorization);
  reply.removeHeader('WWW-Authenticate');
  if (!may(claims, request.params.id)) throw new Refusal(403, 'the token is for another account');
}
