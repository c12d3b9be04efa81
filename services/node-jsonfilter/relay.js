'use strict';
// One process of the relay: listens, and stops on SIGTERM.

var net = require('net');
var Backend = require('./backend');
var Client = require('./client');

// What requests in flight get to end after SIGTERM.
var GRACE_MS = 2000;
// Thousands of connections may come at the same moment; 511 is the default.
var BACKLOG = 4096;

exports.serve = function serve() {
  var address = /^http:\/\/([^\/:]+)(?::([0-9]+))?\/?$/.exec(process.env.BACKEND_URL);
  if (address === null) {
    console.error('BACKEND_URL must name the backend, like http://127.0.0.1:9000');
    process.exit(2);
  }
  var backend = new Backend(address[1], Number(address[2] || 80));
  var clients = [];
  var server = net.createServer({ allowHalfOpen: true }, function (socket) {
    var client = new Client(socket, backend);
    client.at = clients.push(client) - 1;
    socket.on('close', function () {
      // The last one takes the place of this one.
      var last = clients.pop();
      if (last !== client) {
        clients[client.at] = last;
        last.at = client.at;
      }
    });
  });
  server.listen(Number(process.env.PORT) || 8080, process.env.HOST || '127.0.0.1', BACKLOG);
  process.on('SIGTERM', function () {
    server.close(function () { process.exit(0); });
    clients.slice().forEach(function (client) { client.close(); });
    setTimeout(function () { process.exit(0); }, GRACE_MS);
  });
};
