'use strict';

const Koa = require('koa');
const conditional = require('koa-conditional-get');
const mount = require('koa-mount');
const files = require('koa-static');
const { serve } = require('./serve');

const app = new Koa();
// Otherwise each bad request is written to the console.
app.silent = true;
// 304 is a middleware of its own.
app.use(conditional());
// It would take siblings that were compressed in advance without a Vary.
app.use(mount('/files', files(process.env.FILES_DIR, { brotli: false, gzip: false, index: false })));
serve(app.callback());
