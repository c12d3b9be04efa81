// A server of the Model Context Protocol, revision 2026-07-28, for runtimes with fetch's own types, without an SDK.
import { answer } from './answer.js';
import { isLocal } from './origin.js';

export async function fetch(request) {
  const status = refusal(request);
  return status === undefined ? reply(answer(headersOf(request), await request.text())) : new Response(null, { status });
}

// The status for a request whose body need not be read.
function refusal({ url, method, headers }) {
  if (decoded(new URL(url).pathname) !== '/mcp') return 404;
  if (!isLocal(headers.get('origin') ?? undefined)) return 403;
  if (method !== 'POST') return 405;
  if (!/^application\/json *(;|$)/i.test(headers.get('content-type'))) return 415;
  return undefined;
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

// Those that repeat what is in the body.
function headersOf({ headers }) {
  const names = ['mcp-protocol-version', 'mcp-method', 'mcp-name'];
  return Object.fromEntries(names.map((name) => [name, headers.get(name) ?? undefined]));
}

function reply({ status, reply }) {
  return reply === undefined ? new Response(null, { status }) : Response.json(reply, { status });
}
