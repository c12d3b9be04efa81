'use strict';

const Koa = require('koa');
const { Router } = require('@koa/router');
const numbers = require('./numbers');
const { serve } = require('./serve');

// A path is exact in the contracts.
const router = new Router({ sensitive: true, strict: true });

router.get('/api/test', (ctx) => {
  ctx.body = 'Hello, World!';
});
router.get('/api/count/:n', operation(numbers.count));
router.get('/api/fib/:n', operation(numbers.fib));

function operation(compute) {
  return (ctx) => {
    const n = numbers.parse(ctx.params.n);
    if (n === undefined) ctx.throw(400, 'n must be an integer from 0 to 10000');
    ctx.type = 'text/plain';
    ctx.body = compute(n);
  };
}

const app = new Koa();
// Otherwise each bad request is written to the console.
app.silent = true;
app.use(decodeUnreserved);
app.use(router.routes());
app.use(router.allowedMethods());

// The router compares paths as they were sent, but /api/%74est names the same resource as /api/test.
function decodeUnreserved(ctx, next) {
  if (ctx.path.includes('%')) {
    ctx.path = ctx.path.replace(/%[0-9A-Fa-f]{2}/g, (encoded) => {
      const character = String.fromCharCode(parseInt(encoded.slice(1), 16));
      return /[A-Za-z0-9._~-]/.test(character) ? character : encoded;
    });
  }
  return next();
}

serve(app.callback());
