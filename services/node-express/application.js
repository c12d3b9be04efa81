'use strict';

const express = require('express');

exports.create = function create(routers) {
  const app = express();
  // A path is exact in the contracts.
  app.enable('case sensitive routing');
  app.enable('strict routing');
  // Recommended by Express for production: tell nobody what runs here.
  app.disable('x-powered-by');
  app.use(decodeUnreserved);
  for (const addRoutes of routers) addRoutes(app);
  // Express's own error handler would log each bad request.
  app.use((error, request, response, next) => {
    response.status(error.status || 500).type('text/plain').send(error.message);
  });
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
