'use strict';

const cluster = require('node:cluster');
const http = require('node:http');
const os = require('node:os');

const workers = Number(process.env.WORKERS) || os.availableParallelism();

if (cluster.isPrimary && workers > 1) {
  for (let i = 0; i < workers; i++) cluster.fork();
  process.on('SIGTERM', () => cluster.disconnect(() => process.exit(0)));
} else {
  const server = http.createServer((request, response) => {
    if (pathOf(request) !== '/api/test') return respond(response, 404, 'no such path');
    if (request.method !== 'GET' && request.method !== 'HEAD') return respond(response, 405, 'GET only');
    respond(response, 200, 'Hello, World!');
  });
  server.listen(process.env.PORT || 8080, process.env.HOST || '127.0.0.1');
  process.on('SIGTERM', () => process.exit(0));
}

// The path without the query, percent-decoded.
function pathOf(request) {
  try {
    return decodeURIComponent(request.url.split('?')[0]);
  } catch (malformed) {
    return '';
  }
}

function respond(response, status, text) {
  response.writeHead(status, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}
