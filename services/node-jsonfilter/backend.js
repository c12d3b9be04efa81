'use strict';
// The connections to the backend: kept open and used again, one request at a time on each.

var net = require('net');
var Parser = require('./parser');
var headers = require('./headers');

// A backend that is silent for this long is given up, and so is an idle connection.
var SILENCE_MS = 10000;

function Backend(host, port) {
  this.host = host;
  this.port = port;
  this.idle = [];
}

module.exports = Backend;

// request: {method, bytes}. The exchange is told onHead(head), onBody(bytes), sendHead(), onEnd() or onFailure(status),
// and gets the connection, whose pause() and resume() hold and release the reply.
Backend.prototype.send = function (request, exchange) {
  var connection = this.idle.pop() || new Connection(this);
  connection.start(request, exchange);
};

function Connection(backend) {
  var self = this;
  this.backend = backend;
  this.parser = new Parser(this, true);
  this.request = null;
  this.exchange = null;
  this.used = false;
  this.answered = false;
  this.last = false;
  this.socket = net.connect(backend.port, backend.host);
  this.socket.setNoDelay(true);
  this.socket.setTimeout(SILENCE_MS);
  this.socket.on('data', function (bytes) { self.onData(bytes); });
  this.socket.on('end', function () { if (self.exchange !== null) self.parser.finish(); });
  this.socket.on('timeout', function () { self.fail(504); });
  // What follows an error is a close.
  this.socket.on('error', function () {});
  this.socket.on('close', function () { self.onClose(); });
}

Connection.prototype.start = function (request, exchange) {
  this.request = request;
  this.exchange = exchange;
  this.answered = false;
  this.parser.withoutBody = request.method === 'HEAD';
  exchange.connection = this;
  this.socket.write(request.bytes);
};

Connection.prototype.pause = function () { this.socket.pause(); };
Connection.prototype.resume = function () { this.socket.resume(); };

Connection.prototype.onData = function (bytes) {
  // A backend that speaks without being asked is not understood.
  if (this.exchange === null) {
    this.socket.destroy();
    return;
  }
  this.parser.feed(bytes);
  if (this.exchange !== null && this.answered) this.exchange.sendHead();
};

Connection.prototype.onHead = function (head) {
  var tokens = headers.connectionTokens(head.headers);
  this.answered = true;
  this.last = head.untilEnd || tokens.indexOf('close') !== -1 ||
    (head.minor === '0' && tokens.indexOf('keep-alive') === -1);
  this.exchange.onHead(head);
};

Connection.prototype.onBody = function (bytes) { this.exchange.onBody(bytes); };

Connection.prototype.onEnd = function () {
  var exchange = this.exchange;
  this.exchange = null;
  this.request = null;
  this.used = true;
  if (this.last) {
    this.socket.destroy();
  } else {
    // The last piece may have been one too many for the client.
    this.resume();
    this.backend.idle.push(this);
  }
  exchange.onEnd();
};

Connection.prototype.onBroken = function () { this.fail(502); };

Connection.prototype.onClose = function () {
  var at = this.backend.idle.indexOf(this);
  if (at !== -1) this.backend.idle.splice(at, 1);
  // The backend may close a kept connection in the moment in which it is used: a new one tells whether it is there.
  if (this.exchange !== null && this.used && !this.answered) {
    var exchange = this.exchange;
    this.exchange = null;
    new Connection(this.backend).start(this.request, exchange);
  } else {
    this.fail(502);
  }
};

Connection.prototype.fail = function (status) {
  var exchange = this.exchange;
  this.exchange = null;
  this.socket.destroy();
  if (exchange !== null) exchange.onFailure(status);
};
