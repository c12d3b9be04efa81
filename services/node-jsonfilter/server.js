'use strict';
// The relay with a worker per CPU; a worker that dies is replaced.

require('./cluster').start(require('./relay').serve);
