'use strict';

const fortunes = require('./fortunes');
const { Refusal } = require('./refusal');

module.exports = async (app) => {
  await app.register(require('@fastify/view'), { engine: { handlebars: require('handlebars') }, root: __dirname });

  app.get('/fortunes', async (request, reply) => {
    const { nonce } = request.query;
    if (!nonce) throw new Refusal(400, 'nonce is missing');
    return reply.view('fortunes.hbs', { fortunes: await fortunes.read(nonce) });
  });
};
