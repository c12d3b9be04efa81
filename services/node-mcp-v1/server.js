'use strict';
// A server of the Model Context Protocol with sessions, with version 1 of its official SDK for TypeScript.

const { randomUUID } = require('crypto');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { create } = require('./features');
const { serve } = require('./serve');

const LOCAL = ['localhost', '127.0.0.1', '[::1]'];

// By the ids of their sessions.
const transports = new Map();

serve(async (request, response) => {
  if (pathOf(request.url) !== '/mcp') return refuse(response, 404, 'no such path');
  if (!isLocal(request.headers.origin)) return refuse(response, 403, 'foreign Origin');
  const session = request.headers['mcp-session-id'];
  const transport = session === undefined ? await open() : transports.get(session);
  if (transport === undefined) return refuse(response, 404, 'no such session');
  await transport.handleRequest(request, response);
});

// A session that begins if the request is to initialize it; any other is refused by the transport.
async function open() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: process.env.REPLIES !== 'events',
    onsessioninitialized: (session) => { transports.set(session, transport); },
    onsessionclosed: (session) => { transports.delete(session); },
  });
  await create().connect(transport);
  return transport;
}

function pathOf(url) {
  const path = url.split('?', 1)[0];
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

function refuse(response, status, message) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }));
}
