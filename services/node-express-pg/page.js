'use strict';

const fortunes = require('./fortunes');
const { Refusal } = require('./refusal');

module.exports = (app) => {
  app.get('/fortunes', async (request, response) => {
    const { nonce } = request.query;
    if (!nonce) throw new Refusal(400, 'nonce is missing');
    response.render('fortunes', { fortunes: await fortunes.read(nonce) });
  });
};
