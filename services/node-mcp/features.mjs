import { createMcpHandler, McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';
import items from './items.cjs';

const message = z.object({ message: z.string() });
const summands = z.object({ a: z.int(), b: z.int() });
const number = z.object({ id: z.int() });
const item = z.object({ id: z.int(), name: z.string(), price: z.int(), tags: z.array(z.string()) });
const person = z.object({ name: z.string() });

// Replies are JSON unless REPLIES is sse.
export const handler = createMcpHandler(create, { responseMode: process.env.REPLIES || 'auto' });

// The SDK wants a server for each request.
function create() {
  const server = new McpServer({ name: 'prony', version: '1' });
  server.registerTool('echo', { description: 'Returns the message.', inputSchema: message }, ({ message }) => text(message));
  server.registerTool('add', { description: 'Adds two integers.', inputSchema: summands }, ({ a, b }) => text(String(a + b)));
  server.registerTool('item', { description: 'Looks up an item.', inputSchema: number, outputSchema: item }, findItem);
  server.registerResource('item', new ResourceTemplate('item://{id}', { list: undefined }), { mimeType: 'text/plain' }, readItem);
  server.registerPrompt('greet', { argsSchema: person }, greet);
  return server;
}

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
  if (item === undefined) throw new ResourceNotFoundError(uri.href);
  return { contents: [{ uri: uri.href, mimeType: 'text/plain', text: `${item.name} costs ${item.price}` }] };
}

function greet({ name }) {
  return { messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] };
}
