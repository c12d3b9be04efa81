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
  let running = 0;
  let stopping = false;
  let forkedAt;
  const fork = () => {
    cluster.fork();
    running += 1;
    forkedAt = Date.now();
  };
  for (let i = 0; i < workers; i++) fork();
  cluster.on('exit', (worker, code) => {
    running -= 1;
    if (code !== 0 && !stopping) {
      // A worker that cannot even start, since the port is taken, say, is not replaced.
      if (Date.now() - forkedAt < 1000) process.exit(1);
      fork();
    }
    if (running === 0) process.exit(0);
  });
  process.on('SIGTERM', () => {
    stopping = true;
    for (const id in cluster.workers) process.kill(cluster.workers[id].process.pid, 'SIGTERM');
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
