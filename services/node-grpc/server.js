'use strict';

const grpc = require('@grpc/grpc-js');
const { start } = require('./cluster');
const { StreamService, stream } = require('./stream');

// What calls in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(() => {
  const server = new grpc.Server();
  server.addService(StreamService, stream);

  const address = `${process.env.HOST || '127.0.0.1'}:${process.env.PORT || 8080}`;
  server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) => {
    if (error) throw error;
  });

  process.on('SIGTERM', () => {
    server.tryShutdown(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
});
