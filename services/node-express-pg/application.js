'use strict';

const express = require('express');
const { statusOf } = require('./database');
const { Refusal } = require('./refusal');

exports.create = function create(routers) {
  const app = express();
  // A path is exact in the contracts.
  app.enable('case sensitive routing');
  app.enable('strict routing');
  // Recommended by Express for production: tell nobody what runs here.
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('views', __dirname);
  app.set('view engine', 'ejs');
  app.use(decodeUnreserved);
  for (const addRoutes of routers) addRoutes(app);
  app.use(refuse);
  return app;
};

// Express compares paths as they were sent, but /api/%74est names the same resource as /api/test.
function decodeUnreserved(request, response, next) {
  if (request.url.includes('%')) {
    request.url = request.url.replace(/%[0-9A-Fa-f]{2}/g, (encoded) => {
      const character = String.fromCharCode(parseInt(encoded.slice(1), 16));
      return /[A-Za-z0-9._~-]/.test(character) ? character : encoded;
    });
  }
  next();
}

// Express knows an error handler by its four parameters.
function refuse(error, request, response, next) {
  if (error instanceof Refusal && error.faults) return response.status(error.status).json({ errors: error.faults });
  // Express's own errors carry a status, too: of a body that is no JSON, say.
  const status = error.status ?? statusOf(error);
  response.status(status).type('text/plain').send(status < 500 ? error.message : 'try again later');
}
