'use strict';

const { serve } = require('./serve');
const { hello, send } = require('./hello');
const sequence = require('./sequence');
const { snoop } = require('./snoop');
const { catalog } = require('./catalog');
const { upload } = require('./upload');
const { events } = require('./events');

const routes = [
  { path: /^\/api\/test$/, handler: hello },
  { path: /^\/api\/count\/([^/]*)$/, handler: sequence.count },
  { path: /^\/api\/fib\/([^/]*)$/, handler: sequence.fib },
  { path: /^\/$/, handler: snoop },
  { path: /^\/catalog$/, handler: catalog },
  { path: /^\/upload$/, post: true, handler: upload },
  { path: /^\/events$/, handler: events },
];

serve((request, response) => {
  const path = pathOf(request.url);
  for (const route of routes) {
    const match = route.path.exec(path);
    if (match === null) continue;
    if (!allows(route, request.method)) return refuse(response, 405);
    return route.handler(request, response, match[1]);
  }
  refuse(response, 404);
});

function allows(route, method) {
  return route.post ? method === 'POST' : method === 'GET' || method === 'HEAD';
}

function pathOf(url) {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return '';
  }
}

function refuse(response, status) {
  send(response, status, 'text/plain', '');
}
