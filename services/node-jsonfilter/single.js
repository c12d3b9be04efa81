'use strict';
// The relay in one process.

require('./relay').serve();
