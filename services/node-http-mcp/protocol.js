'use strict';

const REVISION = '2026-07-28';
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;

exports.REVISION = REVISION;
exports.INVALID_PARAMS = INVALID_PARAMS;
exports.METHOD_NOT_FOUND = -32601;

// A request or a notification, which has no id; or what is wrong with the text.
exports.parse = function parse(body) {
  let message;
  try {
    message = JSON.parse(body);
  } catch {
    return { error: { code: PARSE_ERROR, message: 'not JSON' } };
  }
  if (message?.jsonrpc !== '2.0' || typeof message.method !== 'string' || !isID(message.id)) {
    return { error: { code: INVALID_REQUEST, message: 'not a request of JSON-RPC 2.0' } };
  }
  return { message };
};

function isID(id) {
  return id === undefined || typeof id === 'string' || Number.isInteger(id);
}

// What differs between the metadata of the body and that of the headers.
exports.check = function check({ method, params }, headers) {
  const version = params?._meta?.['io.modelcontextprotocol/protocolVersion'];
  const capabilities = params?._meta?.['io.modelcontextprotocol/clientCapabilities'];
  if (typeof version !== 'string' || typeof capabilities !== 'object' || capabilities === null) {
    return { code: INVALID_PARAMS, message: '_meta must have protocolVersion and clientCapabilities' };
  }
  if (headers['mcp-protocol-version'] !== version) return mismatch('MCP-Protocol-Version');
  if (version !== REVISION) {
    const data = { supported: [REVISION], requested: version };
    return { code: UNSUPPORTED_VERSION, message: 'unsupported protocol version', data };
  }
  if (headers['mcp-method'] !== method) return mismatch('Mcp-Method');
  if (method in NAMES && decoded(headers['mcp-name']) !== NAMES[method](params)) return mismatch('Mcp-Name');
  return undefined;
};

// What Mcp-Name repeats.
const NAMES = {
  __proto__: null,
  'tools/call': (params) => params.name,
  'prompts/get': (params) => params.name,
  'resources/read': (params) => params.uri,
};

// =?base64?…?= is the text in it.
function decoded(value) {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value);
  return encoded === null ? value : Buffer.from(encoded[1], 'base64').toString();
}

function mismatch(header) {
  return { code: HEADER_MISMATCH, message: `${header} differs from the body` };
}
