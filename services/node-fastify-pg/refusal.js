'use strict';

// A request that is rejected.
exports.Refusal = class Refusal extends Error {
  constructor(status, message, faults) {
    super(message);
    this.status = status;
    this.faults = faults;
  }
};
