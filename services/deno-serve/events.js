const MOST_EVENTS = 10000;
const LONGEST_GAP_US = 1000000;

const HEADERS = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' };

// A stream of events, or undefined where the numbers are none.
export function events(request) {
  const query = new URL(request.url).searchParams;
  const count = number(query.get('count'), 1, MOST_EVENTS);
  const gapUs = number(query.get('gap_us'), 0, LONGEST_GAP_US);
  if (count === undefined || gapUs === undefined) return undefined;
  if (request.method === 'HEAD') return new Response(null, { headers: HEADERS });
  // A client that leaves cancels the stream, and with it the generator.
  const text = ReadableStream.from(ticks(count, gapUs / 1000));
  return new Response(text.pipeThrough(new TextEncoderStream()), { headers: HEADERS });
}

async function* ticks(count, gapMs) {
  for (let n = 1; n <= count; n++) {
    if (n > 1 && gapMs > 0) await pause(gapMs);
    yield `id: ${n}\nevent: tick\ndata: ${JSON.stringify({ n, of: count })}\n\n`;
  }
  yield 'event: end\ndata: bye\n\n';
}

// Timers count whole milliseconds: they may be early.
async function pause(ms) {
  const end = performance.now() + ms;
  for (let rest = ms; rest > 0; rest = end - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, rest));
  }
}

// An integer from least to most, or undefined.
function number(text, least, most) {
  const n = /^[0-9]+$/.test(text) ? Number(text) : Infinity;
  return least <= n && n <= most ? n : undefined;
}
