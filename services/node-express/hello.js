'use strict';

module.exports = (app) => {
  app.get('/api/test', (request, response) => {
    response.type('text/plain').send('Hello, World!');
  });
};
