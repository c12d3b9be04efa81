'use strict';

const express = require('express');
const accounts = require('./accounts');
const { Refusal } = require('./refusal');
const { claimsOf, may } = require('./token');

module.exports = (app) => {
  app.get('/account/:id', authorize, async (request, response) => {
    response.type('json').send(await accounts.read(request.params.id));
  });

  // A stranger's body is not read.
  app.post('/account/:id/deposits', authorize, express.json(), async (request, response) => {
    if (request.get('Content-Length') === '0') throw new Refusal(400, 'the body must be JSON');
    response.status(201).json(await accounts.deposit(request.params.id, request.body?.amountCents));
  });
};

function authorize(request, response, next) {
  response.set('WWW-Authenticate', 'Bearer realm="account", error="invalid_token"');
  const claims = claimsOf(request.get('Authorization'));
  response.removeHeader('WWW-Authenticate');
  if (!may(claims, request.params.id)) throw new Refusal(403, 'the token is for another account');
  next();
}
