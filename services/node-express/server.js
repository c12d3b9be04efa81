'use strict';

const { create } = require('./application');
const { serve } = require('./serve');

serve(create([require('./hello'), require('./sequence'), require('./snoop'), require('./person')]));
