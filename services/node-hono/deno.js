import { app } from './app.js';

// `deno serve --parallel` runs this module once for each worker.
export default { fetch: app.fetch };

// Requests are answered immediately, so only replies that are being sent need time: 100 ms.
Deno.addSignalListener('SIGTERM', () => setTimeout(() => Deno.exit(0), 100));
