'use strict';

exports.hello = function hello(request, response) {
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.end('Hello, World!');
};
