import {
  hostHeaderValidationResponse, localhostAllowedHostnames, localhostAllowedOrigins, originValidationResponse,
} from '@modelcontextprotocol/server';
import { handler } from './features.mjs';

// Answers a request of a runtime with fetch's own types.
export function fetch(request) {
  if (decoded(new URL(request.url).pathname) !== '/mcp') return new Response(null, { status: 404 });
  return hostHeaderValidationResponse(request, localhostAllowedHostnames())
    ?? originValidationResponse(request, localhostAllowedOrigins())
    ?? handler.fetch(request);
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
