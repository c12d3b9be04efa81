'use strict';

const express = require('express');
const compressed = require('express-static-gzip');
const { serve } = require('./serve');

const folder = process.env.FILES_DIR;
const app = express();
// Recommended by Express for production: tell nobody what runs here.
app.disable('x-powered-by');
// Siblings that were compressed in advance are a middleware of their own, around the same one.
app.use('/files', process.env.PRECOMPRESSED === 'true'
  ? compressed(folder, { enableBrotli: true, orderPreference: ['br', 'gz'], index: false })
  : express.static(folder));
// Express's own error handler would log each bad request.
app.use((error, request, response, next) => {
  response.status(error.status || 500).type('text/plain').send(error.message);
});
serve(app);
