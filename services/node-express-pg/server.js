'use strict';

const { create } = require('./application');
const { serve } = require('./serve');

serve(create([require('./shop'), require('./page')]));
