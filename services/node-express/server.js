'use strict';

const https = require('https');

const { create } = require('./application');
const { serve } = require('./serve');

const app = create([require('./hello'), require('./sequence'), require('./snoop'), require('./person')]);
// Express knows HTTP/1.1 alone.
serve(app, https.createServer);
