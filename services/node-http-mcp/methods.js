'use strict';

const { INVALID_PARAMS, METHOD_NOT_FOUND, REVISION } = require('./protocol');
const items = require('./items');
const tools = require('./tools.json');

// The result of a request whose metadata are right, or its error.
exports.run = function run({ method, params }) {
  switch (method) {
    case 'server/discover': return cacheable(discovery);
    case 'tools/list': return cacheable({ tools });
    case 'tools/call': return callTool(params.name, params.arguments ?? {});
    case 'resources/read': return readResource(params.uri);
    case 'prompts/get': return getPrompt(params.name, params.arguments ?? {});
    default: return failure(METHOD_NOT_FOUND, `unknown method ${method}`);
  }
};

const discovery = {
  supportedVersions: [REVISION],
  capabilities: { tools: {}, resources: {}, prompts: {} },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'mcp-by-hand', version: '1' } },
};

function callTool(name, { message, a, b, id }) {
  switch (name) {
    case 'echo': return typeof message === 'string' ? text(message) : toolError('message must be a text');
    case 'add':
      return Number.isInteger(a) && Number.isInteger(b) ? text(String(a + b)) : toolError('a and b must be integers');
    case 'item': return callItem(id);
    default: return failure(INVALID_PARAMS, `unknown tool ${name}`);
  }
}

function callItem(id) {
  const item = items.find(id);
  return item === undefined ? toolError('no such item') : text(JSON.stringify(item), { structuredContent: item });
}

function readResource(uri) {
  const id = /^item:\/\/(\d+)$/.exec(uri);
  const item = id === null ? undefined : items.find(Number(id[1]));
  if (item === undefined) return failure(INVALID_PARAMS, 'unknown resource', { uri });
  return cacheable({ contents: [{ uri, mimeType: 'text/plain', text: `${item.name} costs ${item.price}` }] });
}

function getPrompt(prompt, { name }) {
  if (prompt !== 'greet') return failure(INVALID_PARAMS, `unknown prompt ${prompt}`);
  if (typeof name !== 'string') return failure(INVALID_PARAMS, 'name must be a text');
  return complete({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] });
}

function toolError(message) {
  return text(message, { isError: true });
}

function text(text, more) {
  return complete({ content: [{ type: 'text', text }], ...more });
}

// A client may keep the result for a minute.
function cacheable(result) {
  return complete({ ...result, ttlMs: 60000, cacheScope: 'public' });
}

function complete(result) {
  return { result: { resultType: 'complete', ...result } };
}

function failure(code, message, data) {
  return { error: { code, message, data } };
}
