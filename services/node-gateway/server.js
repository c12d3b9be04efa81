'use strict';

const { serve } = require('./serve');
const { gateway } = require('./gateway');

serve(gateway(new URL(process.env.MODEL_URL), process.env.MODEL_KEY));
