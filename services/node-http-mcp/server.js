'use strict';
// A server of the Model Context Protocol, revision 2026-07-28, on the http module without an SDK.

const { serve } = require('./serve');
const { answer } = require('./answer');
const { refusal } = require('./refusal');

const LONGEST_BODY = 4 * 1024 * 1024;

serve((request, response) => {
  const refused = refusal(headOf(request));
  if (refused !== undefined) return send(response, refused);
  const chunks = [];
  let length = 0;
  request.on('data', (chunk) => {
    length += chunk.length;
    if (length <= LONGEST_BODY) chunks.push(chunk);
  });
  request.on('end', () => {
    if (length > LONGEST_BODY) return send(response, 413);
    const { status, reply } = answer(request.headers, Buffer.concat(chunks).toString());
    if (reply === undefined) return send(response, status);
    sendJSON(response, status, reply);
  });
});

// What decides whether the body needs to be read.
function headOf({ url, method, headers }) {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  return { path, method, origin: headers.origin, type: headers['content-type'] };
}

function send(response, status) {
  response.writeHead(status, { 'Content-Length': 0 });
  response.end();
}

// With its length: after writeHead, Node.js would send the body in chunks.
function sendJSON(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
