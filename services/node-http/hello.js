'use strict';

exports.hello = function hello(request, response) {
  send(response, 200, 'text/plain', 'Hello, World!');
};

exports.send = send;

// With its length: after writeHead, Node.js would send the body in chunks.
function send(response, status, type, body) {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
