'use strict';

const LOCAL = ['localhost', '127.0.0.1', '[::1]'];

// Only browsers send an Origin.
exports.isLocal = function isLocal(origin) {
  return origin === undefined || (URL.canParse(origin) && LOCAL.includes(new URL(origin).hostname));
};
