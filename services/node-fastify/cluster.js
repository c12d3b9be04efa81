'use strict';
// A worker process per CPU; one worker is this process itself.

const cluster = require('node:cluster');
const os = require('node:os');

const workers = Number(process.env.WORKERS) || os.availableParallelism();

exports.start = function start(serve) {
  if (workers > 1 && cluster.isPrimary) supervise();
  else serve();
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
