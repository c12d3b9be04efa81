'use strict';

const zlib = require('zlib');
const { send } = require('./hello');
const items = require('./items');

exports.catalog = function catalog(request, response) {
  const query = new URL(request.url, 'http://localhost').searchParams;
  const list = items.parse({ from: query.get('from'), count: query.get('count') });
  if (list === undefined) {
    return send(response, 400, 'text/plain', 'from must be an integer from 1 to 1000000, count one from 1 to 500');
  }
  const body = JSON.stringify(list);
  const coding = codingFor(request.headers['accept-encoding']);
  response.setHeader('Vary', 'Accept-Encoding');
  if (coding === undefined) return send(response, 200, 'application/json', body);
  zlib[coding.compress](body, coding.options, (error, compressed) => {
    if (error) return send(response, 500, 'text/plain', 'the reply could not be compressed');
    response.setHeader('Content-Encoding', coding.name);
    send(response, 200, 'application/json', compressed);
  });
};

const CODINGS = [
  { name: 'gzip', compress: 'gzip', options: {} },
  // Brotli's own default is its slowest, for files that are compressed once.
  { name: 'br', compress: 'brotliCompress', options: { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } } },
];

function codingFor(header = '') {
  const accepted = header.split(',').map((part) => part.trim());
  return CODINGS.find(({ name }) => accepted.includes(name));
}
