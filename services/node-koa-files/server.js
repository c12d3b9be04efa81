'use strict';

const Koa = require('koa');
const mount = require('koa-mount');
const files = require('koa-static');
const { serve } = require('./serve');

// koa-static takes siblings that were compressed in advance unless it is told not to.
const compressed = process.env.PRECOMPRESSED === 'true';
const app = new Koa();
// Otherwise each bad request is written to the console.
app.silent = true;
app.use(mount('/files', files(process.env.FILES_DIR, { brotli: compressed, gzip: compressed, index: false })));
serve(app.callback());
