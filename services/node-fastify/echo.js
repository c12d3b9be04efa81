'use strict';

module.exports = async (app) => {
  app.get('/ws/echo', { websocket: true }, (socket) => {
    socket.on('message', (message, isBinary) => socket.send(message, { binary: isBinary }));
  });
};
