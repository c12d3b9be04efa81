'use strict';
// Document 004's contract alone, in what Node.js 8 knows: it has no big integers.

const { create } = require('./application');
const { serve } = require('./serve');

serve(create([require('./hello')]));
