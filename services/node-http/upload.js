'use strict';

const { createHash } = require('crypto');
const { send } = require('./hello');

const LARGEST = 20 * 1024 * 1024;

exports.upload = function upload(request, response) {
  const hash = createHash('sha256');
  let bytes = 0;
  request.on('data', (chunk) => {
    bytes += chunk.length;
    if (bytes <= LARGEST) hash.update(chunk);
    // The rest goes on to be read, so that the connection stands at the next request after it.
    else if (!response.headersSent) send(response, 413, 'text/plain', 'the body is larger than 20 MiB');
  });
  request.on('end', () => {
    if (bytes <= LARGEST) send(response, 200, 'application/json', JSON.stringify({ bytes, sha256: hash.digest('hex') }));
  });
};
