'use strict';

const { Readable, pipeline } = require('stream');
const { setTimeout: sleep } = require('timers/promises');
const { send } = require('./hello');

const MOST_EVENTS = 10000;
const LONGEST_GAP_US = 1000000;

exports.events = function events(request, response) {
  const query = new URL(request.url, 'http://localhost').searchParams;
  const count = number(query.get('count'), 1, MOST_EVENTS);
  const gapUs = number(query.get('gap_us'), 0, LONGEST_GAP_US);
  if (count === undefined || gapUs === undefined) {
    return send(response, 400, 'text/plain', 'count must be an integer from 1 to 10000, gap_us one from 0 to 1000000');
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  if (request.method === 'HEAD') return response.end();
  // A client that leaves ends the pipeline, and with it the generator.
  pipeline(Readable.from(ticks(count, gapUs / 1000)), response, () => {});
};

async function* ticks(count, gapMs) {
  for (let n = 1; n <= count; n++) {
    if (n > 1 && gapMs > 0) await pause(gapMs);
    yield `id: ${n}\nevent: tick\ndata: ${JSON.stringify({ n, of: count })}\n\n`;
  }
  yield 'event: end\ndata: bye\n\n';
}

// Timers count whole milliseconds from the begin of a turn of the event loop: they may be early.
async function pause(ms) {
  const end = performance.now() + ms;
  for (let rest = ms; rest > 0; rest = end - performance.now()) await sleep(rest);
}

// An integer from least to most, or undefined.
function number(text, least, most) {
  const n = /^[0-9]+$/.test(text) ? Number(text) : Infinity;
  return least <= n && n <= most ? n : undefined;
}
