'use strict';
// A worker process per CPU; one worker is this process itself.

const cluster = require('cluster');
const http = require('http');
const os = require('os');

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

const cpus = os.availableParallelism ? os.availableParallelism() : os.cpus().length;
const workers = Number(process.env.WORKERS) || cpus;

exports.start = function start(handler) {
  if (workers > 1 && !cluster.isWorker) supervise();
  else serve(handler);
};

function supervise() {
  let stopping = false;
  for (let i = 0; i < workers; i++) cluster.fork();
  cluster.on('exit', (worker, code) => {
    // A worker that died is replaced; one that was told to stop exits with 0.
    if (code !== 0 && !stopping) cluster.fork();
    else if (Object.keys(cluster.workers).length === 0) process.exit(0);
  });
  process.on('SIGTERM', () => {
    stopping = true;
    for (const id in cluster.workers) cluster.workers[id].process.kill('SIGTERM');
  });
}

function serve(handler) {
  const server = http.createServer(handler);
  server.listen(process.env.PORT || 8080, process.env.HOST || '127.0.0.1');
  process.on('SIGTERM', () => {
    server.close(() => process.exit(0));
    // Node.js 8 cannot close its idle connections by itself: there the time limit does.
    if (server.closeIdleConnections) server.closeIdleConnections();
    setTimeout(() => process.exit(0), GRACE_MS);
  });
}
