'use strict';
// A worker process per CPU; one worker is this process itself. In the syntax of every Node.js since 0.10, for Bun and for
// Deno too.

var cluster = require('cluster');
var os = require('os');

var cpus = os.availableParallelism ? os.availableParallelism() : os.cpus().length;
var workers = Number(process.env.WORKERS) || cpus;
var running = 0;
var stopping = false;
var forkedAt;

exports.start = function (serve) {
  if (workers > 1 && !cluster.isWorker) supervise();
  else serve();
};

function supervise() {
  for (var i = 0; i < workers; i++) fork();
  cluster.on('exit', function (worker, code) {
    running -= 1;
    if (code !== 0 && !stopping) {
      // A worker that cannot even start, since the port is taken, say, is not replaced.
      if (Date.now() - forkedAt < 1000) process.exit(1);
      fork();
    }
    if (running === 0) process.exit(0);
  });
  process.on('SIGTERM', function () {
    stopping = true;
    Object.keys(cluster.workers).forEach(function (id) { process.kill(cluster.workers[id].process.pid, 'SIGTERM'); });
  });
}

function fork() {
  cluster.fork();
  running += 1;
  forkedAt = Date.now();
}
