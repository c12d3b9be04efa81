'use strict';

const uWS = require('@btc-vision/uwebsockets.js');
const { start } = require('./cluster');
const numbers = require('./numbers');

start(() => {
  const app = uWS.App();
  app.get('/api/test', (res) => text(res, 'Hello, World!'));
  app.get('/api/count/:n', (res, req) => answer(res, numbers.count, req.getParameter(0)));
  app.get('/api/fib/:n', (res, req) => answer(res, numbers.fib, req.getParameter(0)));
  app.get('/*', unescaped);
  app.any('/*', (res) => {
    res.writeStatus('404 Not Found').end();
  });
  app.listen(process.env.HOST || '127.0.0.1', Number(process.env.PORT) || 8080, (listening) => {
    if (!listening) process.exit(1);
  });
  // Closes the listening socket and all connections. Each request is answered at once, so none is in flight.
  process.on('SIGTERM', () => {
    app.close();
    process.exit(0);
  });
});

function text(res, body) {
  res.writeHeader('Content-Type', 'text/plain').end(body);
}

function answer(res, compute, written) {
  const n = numbers.parse(written);
  if (n === undefined) res.writeStatus('400 Bad Request').end('n must be an integer from 0 to 10000');
  else text(res, compute(n));
}

// Routes compare paths as they were sent, but /api/%74est names the same resource as /api/test.
function unescaped(res, req) {
  const path = req.getUrl().replace(/%[0-9A-Fa-f]{2}/g, (encoded) => {
    const character = String.fromCharCode(parseInt(encoded.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : encoded;
  });
  const [, operation, n] = /^\/api\/(count|fib)\/([^/]*)$/.exec(path) || [];
  if (path === '/api/test') text(res, 'Hello, World!');
  else if (operation) answer(res, numbers[operation], n);
  else res.writeStatus('404 Not Found').end();
}
