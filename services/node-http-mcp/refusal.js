'use strict';

const LOCAL = ['localhost', '127.0.0.1', '[::1]'];

// The status for a request whose body need not be read.
exports.refusal = function refusal({ path, method, origin, type }) {
  if (path !== '/mcp' && decoded(path) !== '/mcp') return 404;
  if (!isLocal(origin)) return 403;
  if (method !== 'POST') return 405;
  if (!/^application\/json *(;|$)/i.test(type)) return 415;
  return undefined;
};

function decoded(path) {
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
