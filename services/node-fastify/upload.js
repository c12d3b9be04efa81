'use strict';

const { createHash } = require('node:crypto');

const LARGEST = 20 * 1024 * 1024;

module.exports = async (app) => {
  // Bodies of any type, as the stream that they are.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, payload, done) => done(null));

  app.post('/upload', (request, reply) => {
    const hash = createHash('sha256');
    let bytes = 0;
    request.raw.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes <= LARGEST) hash.update(chunk);
      // The rest goes on to be read, so that the connection stands at the next request after it.
      else if (!reply.sent) reply.code(413).type('text/plain').send('the body is larger than 20 MiB');
    });
    request.raw.on('end', () => {
      if (bytes <= LARGEST) reply.send({ bytes, sha256: hash.digest('hex') });
    });
  });
};
