'use strict';

const { create } = require('./application');
const { start } = require('./cluster');

start(create([require('./hello'), require('./sequence'), require('./snoop'), require('./person')]));
