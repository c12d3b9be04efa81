'use strict';

// What a request asks for and cannot have.
exports.Refusal = class Refusal extends Error {
  constructor(status, message, faults) {
    super(message);
    this.status = status;
    this.faults = faults;
  }
};
