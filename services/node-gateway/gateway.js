'use strict';
// Relays the two operations to the model, with the model's key in place of the client's.

const http = require('http');
const { pipeline } = require('stream');

const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
const OPERATIONS = new Map([['/v1/chat/completions', 'POST'], ['/v1/models', 'GET']]);

exports.gateway = (model, key) => {
  const agent = new http.Agent({ keepAlive: true });

  return (request, response) => {
    const [path] = request.url.split('?', 1);
    const method = OPERATIONS.get(path);
    if (method !== request.method) return refuse(response, method ? 405 : 404, 'there is no such operation');
    const upstream = http.request({
      agent,
      method: request.method,
      hostname: model.hostname,
      port: model.port,
      path: model.pathname + request.url.slice('/v1'.length),
      headers: { ...endToEnd(request.headers), host: model.host, authorization: `Bearer ${key}` },
    });
    // A client may leave before the model has answered.
    response.on('close', () => upstream.destroy());
    upstream.on('response', (reply) => {
      response.writeHead(reply.statusCode, endToEnd(reply.headers));
      // Without this the head waits for the first piece of the body.
      response.flushHeaders();
      // A reply that breaks off destroys the client's connection.
      pipeline(reply, response, () => {});
    });
    upstream.on('error', () => {
      if (!response.headersSent) refuse(response, 502, 'the model cannot be reached');
    });
    request.pipe(upstream);
  };
};

// The headers without those of one connection alone (RFC 9110, 7.6.1).
function endToEnd(headers) {
  const kept = { ...headers };
  const named = (headers.connection || '').toLowerCase().split(',').map((name) => name.trim());
  for (const name of [...HOP_BY_HOP, ...named]) delete kept[name];
  return kept;
}

function refuse(response, status, message) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'gateway_error' } }));
}
