import { app } from './app.js';

// `deno serve --parallel` runs this module once for each worker.
export default { fetch: app.fetch };

// Replies are whole in the moment in which their requests are read: what is being sent gets a tenth of a second.
Deno.addSignalListener('SIGTERM', () => setTimeout(() => Deno.exit(0), 100));
