'use strict';
// Document 004's contract alone, in what Node.js 8 knows: it has no big integers.

const { serve } = require('./serve');

serve((request, response) => {
  const path = decode(request.url.split('?')[0]);
  if (path !== '/api/test') response.writeHead(404);
  else if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405);
  else return hello(request, response);
  response.end();
});

function decode(path) {
  try {
    return decodeURIComponent(path);
  } catch (malformed) {
    return '';
  }
}

// As document 004 wrote it: without a length, so that Node.js sends it in chunks.
function hello(request, response) {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('Hello, World!');
}
