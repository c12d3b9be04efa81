'use strict';
// A server of the http module in each worker; on TLS_PORT, if there is one, another of the http2 module, which speaks HTTP/1.1 too.

const fs = require('fs');
const http = require('http');
const { start } = require('./cluster');

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

exports.serve = (handler, secureServer = http2Server) => start(() => {
  const servers = [listen(http.createServer(handler), process.env.PORT || 8080)];
  if (process.env.TLS_PORT) {
    const identity = { cert: fs.readFileSync(process.env.TLS_CERT), key: fs.readFileSync(process.env.TLS_KEY) };
    servers.push(listen(secureServer(identity, handler), process.env.TLS_PORT));
  }
  process.on('SIGTERM', () => {
    let open = servers.length;
    for (const server of servers) {
      server.close(() => {
        open -= 1;
        if (open === 0) process.exit(0);
      });
      // Node.js 8 cannot close its idle connections by itself: there the time limit does.
      if (server.closeIdleConnections) server.closeIdleConnections();
    }
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});

function listen(server, port) {
  return server.listen(port, process.env.HOST || '127.0.0.1');
}

// Loaded here, because old versions warn that the module is experimental.
function http2Server(identity, handler) {
  return require('http2').createSecureServer(Object.assign({ allowHTTP1: true }, identity), handler);
}
