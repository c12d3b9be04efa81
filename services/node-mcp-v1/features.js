'use strict';

const { McpServer, ResourceTemplate } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { ErrorCode, McpError } = require('@modelcontextprotocol/sdk/types.js');
const z = require('zod');
const items = require('./items');

const message = { message: z.string() };
const summands = { a: z.int(), b: z.int() };
const number = { id: z.int() };
const item = { id: z.int(), name: z.string(), price: z.int(), tags: z.array(z.string()) };
const person = { name: z.string() };

// Each session has its own server.
exports.create = function create() {
  const server = new McpServer({ name: 'node-mcp-v1', version: '1' });
  server.registerTool('echo', { description: 'Returns the message.', inputSchema: message }, ({ message }) => text(message));
  server.registerTool('add', { description: 'Adds two integers.', inputSchema: summands }, ({ a, b }) => text(String(a + b)));
  server.registerTool('item', { description: 'Looks up an item.', inputSchema: number, outputSchema: item }, findItem);
  server.registerResource('item', new ResourceTemplate('item://{id}', { list: undefined }), { mimeType: 'text/plain' }, readItem);
  server.registerPrompt('greet', { argsSchema: person }, greet);
  return server;
};

function text(text) {
  return { content: [{ type: 'text', text }] };
}

function findItem({ id }) {
  const item = items.find(id);
  if (item === undefined) return { ...text('no such item'), isError: true };
  return { ...text(JSON.stringify(item)), structuredContent: item };
}

function readItem(uri, { id }) {
  const item = items.find(Number(id));
  if (item === undefined) throw new McpError(ErrorCode.InvalidParams, 'no such item');
  return { contents: [{ uri: uri.href, mimeType: 'text/plain', text: `${item.name} costs ${item.price}` }] };
}

function greet({ name }) {
  return { messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] };
}
