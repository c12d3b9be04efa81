// A server of the Model Context Protocol with its official SDK for TypeScript.
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { handler } from './features.mjs';
import { serve } from './serve.js';

const hasLocalHost = localhostHostValidation();
const hasLocalOrigin = localhostOriginValidation();
const answer = toNodeHandler(handler);

serve((request, response) => {
  if (pathOf(request.url) !== '/mcp') {
    response.writeHead(404).end();
  } else if (hasLocalHost(request, response) && hasLocalOrigin(request, response)) {
    answer(request, response);
  }
});

function pathOf(url) {
  const path = url.split('?', 1)[0];
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
