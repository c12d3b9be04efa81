'use strict';

const cluster = require('node:cluster');

// Bytes that wait for a member who reads slowly; with more it is dropped.
const LONGEST_QUEUE = 16 * 1024 * 1024;

const rooms = new Map();

function deliver({ room, message, isBinary }) {
  for (const socket of rooms.get(room) ?? []) {
    if (socket.bufferedAmount > LONGEST_QUEUE) socket.terminate();
    else socket.send(message, { binary: isBinary });
  }
}

// The members of a room may be with different workers: what is said goes through the primary process, which gives it to all of
// them in one order.
const say = cluster.isWorker ? (said) => process.send(said) : deliver;
if (cluster.isWorker) process.on('message', deliver);

module.exports = async (app) => {
  app.get('/ws/room/:name(^[\\w-]+$)', { websocket: true }, (socket, request) => {
    const room = request.params.name;
    if (!rooms.has(room)) rooms.set(room, new Set());
    const members = rooms.get(room);
    members.add(socket);
    socket.on('message', (message, isBinary) => say({ room, message, isBinary }));
    socket.on('close', () => {
      members.delete(socket);
      if (members.size === 0) rooms.delete(room);
    });
  });
};

// In the primary process: before it starts its workers.
module.exports.relay = () => {
  if (cluster.isWorker) return;
  cluster.setupPrimary({ serialization: 'advanced' }); // buffers stay buffers
  cluster.on('message', (_, said) => {
    for (const worker of Object.values(cluster.workers)) worker.send(said);
  });
};
