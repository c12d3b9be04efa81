'use strict';
// A server of the http module in each worker.

const http = require('http');
const { start } = require('./cluster');

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

exports.serve = (handler) => start(() => {
  const server = http.createServer(handler);
  server.listen(process.env.PORT || 8080, process.env.HOST || '127.0.0.1');
  process.on('SIGTERM', () => {
    server.close(() => process.exit(0));
    // Node.js 8 cannot close its idle connections by itself: there the time limit does.
    if (server.closeIdleConnections) server.closeIdleConnections();
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});
