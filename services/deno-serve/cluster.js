// A worker process per CPU; one worker is this process itself.

import cluster from 'node:cluster';
import os from 'node:os';

const workers = Number(process.env.WORKERS) || os.availableParallelism();

export function start(serve) {
  if (workers > 1 && cluster.isPrimary) supervise();
  else serve();
}

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
