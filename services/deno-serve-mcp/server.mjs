// A server of the Model Context Protocol on `deno serve`, without an SDK.
import { fetch } from './fetch.mjs';

// `deno serve --parallel` runs this module once for each worker.
export default { fetch };

// What is being sent gets a tenth of a second.
Deno.addSignalListener('SIGTERM', () => setTimeout(() => Deno.exit(0), 100));
