'use strict';
// Only document 004's contract, in the JavaScript of Node.js 8, which has no big integers.

const { create } = require('./application');
const { serve } = require('./serve');

serve(create([require('./hello')]));
