'use strict';
// A server of the Model Context Protocol, revision 2026-07-28, on the http module without an SDK.

const { serve } = require('./serve');
const { METHOD_NOT_FOUND, check, parse } = require('./protocol');
const { run } = require('./methods');

const LONGEST_BODY = 4 * 1024 * 1024;
const LOCAL = ['localhost', '127.0.0.1', '[::1]'];

serve((request, response) => {
  const refused = refusal(request);
  if (refused !== undefined) return send(response, refused);
  const chunks = [];
  let length = 0;
  request.on('data', (chunk) => {
    length += chunk.length;
    if (length <= LONGEST_BODY) chunks.push(chunk);
  });
  request.on('end', () => {
    if (length > LONGEST_BODY) return send(response, 413);
    answer(request.headers, Buffer.concat(chunks).toString(), response);
  });
});

// The status for a request whose body need not be read.
function refusal({ url, method, headers }) {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (path !== '/mcp' && decoded(path) !== '/mcp') return 404;
  if (!isLocal(headers.origin)) return 403;
  if (method !== 'POST') return 405;
  if (!/^application\/json *(;|$)/i.test(headers['content-type'])) return 415;
  return undefined;
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

// Only browsers send an Origin.
function isLocal(origin) {
  return origin === undefined || (URL.canParse(origin) && LOCAL.includes(new URL(origin).hostname));
}

function answer(headers, body, response) {
  const { message, error } = parse(body);
  if (error === undefined && message.id === undefined) return send(response, 202); // a notification
  const outcome = attempt(headers, message, error);
  sendJSON(response, statusOf(outcome), { jsonrpc: '2.0', id: message?.id ?? null, ...outcome });
}

// The result or the error of a request.
function attempt(headers, message, unread) {
  const error = unread ?? check(message, headers);
  return error === undefined ? run(message) : { error };
}

function statusOf({ error }) {
  if (error === undefined) return 200;
  return error.code === METHOD_NOT_FOUND ? 404 : 400;
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
