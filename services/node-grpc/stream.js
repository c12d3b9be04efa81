'use strict';

const { Readable, pipeline } = require('stream');
const { setTimeout: sleep } = require('timers/promises');
const { loadPackageDefinition, status } = require('@grpc/grpc-js');
const { loadSync } = require('@grpc/proto-loader');

const MOST_TICKS = 10000;
const LONGEST_GAP_US = 1000000;

// 64 bits are more than a number of JavaScript holds: they come as texts.
const definition = loadPackageDefinition(loadSync('stream.proto', { longs: String, defaults: true }));
exports.StreamService = definition.prony.stream.StreamService.service;

exports.stream = {
  tick(call) {
    const { count, gapUs } = call.request;
    if (count < 1 || count > MOST_TICKS) return refuse(call, `count is 1 to ${MOST_TICKS}`);
    if (gapUs < 0 || gapUs > LONGEST_GAP_US) return refuse(call, `gap_us is 0 to ${LONGEST_GAP_US}`);
    // A deadline that has passed, or a client that has left, ends the pipeline, and with it the generator.
    pipeline(Readable.from(ticks(count, gapUs / 1000)), call, () => {});
  },

  sum(call, callback) {
    let count = 0;
    let total = 0n;
    call.on('data', ({ value }) => {
      count += 1;
      total += BigInt(value);
    });
    call.on('end', () => callback(null, { count, total: total.toString() }));
  },

  echo(call) {
    call.pipe(call);
  },
};

function refuse(call, details) {
  call.emit('error', { code: status.INVALID_ARGUMENT, details });
}

async function* ticks(count, gapMs) {
  for (let n = 1; n <= count; n++) {
    if (n > 1 && gapMs > 0) await pause(gapMs);
    yield { n, of: count };
  }
}

// Timers count whole milliseconds from the begin of a turn of the event loop: they may be early.
async function pause(ms) {
  const end = performance.now() + ms;
  for (let rest = ms; rest > 0; rest = end - performance.now()) await sleep(rest);
}
