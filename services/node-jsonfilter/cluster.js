'use strict';
// The relay with a worker per CPU; a worker that dies is replaced.

var cluster = require('cluster');
var os = require('os');

var workers = Number(process.env.WORKERS) || (os.availableParallelism || function () { return os.cpus().length; })();
var running = 0;
var stopping = false;
var forkedAt;

if (cluster.isWorker) require('./relay').serve();
else supervise();

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
