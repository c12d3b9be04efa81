'use strict';

const { create } = require('./application');
const { serve } = require('./serve');

const routers = [require('./shop'), require('./page')];
// Only the contract `account` has a cache beside its database.
if (process.env.REDIS_URL) routers.push(require('./account'));
serve(create(routers));
