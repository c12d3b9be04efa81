// A server of the Model Context Protocol, revision 2026-07-28, for runtimes with fetch's own types, without an SDK.
import { answer } from './answer.js';
import { refusal } from './refusal.js';

export async function fetch(request) {
  const status = refusal(headOf(request));
  return status === undefined ? reply(answer(headersOf(request), await request.text())) : new Response(null, { status });
}

// What decides whether the body needs to be read.
function headOf({ url, method, headers }) {
  const origin = headers.get('origin') ?? undefined;
  return { path: new URL(url).pathname, method, origin, type: headers.get('content-type') };
}

// Those that repeat what is in the body.
function headersOf({ headers }) {
  const names = ['mcp-protocol-version', 'mcp-method', 'mcp-name'];
  return Object.fromEntries(names.map((name) => [name, headers.get(name) ?? undefined]));
}

function reply({ status, reply }) {
  return reply === undefined ? new Response(null, { status }) : Response.json(reply, { status });
}
