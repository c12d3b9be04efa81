'use strict';
// One connection of a client: its requests are answered one after the other, in their order.

var Parser = require('./parser');
var Exchange = require('./exchange');
var headers = require('./headers');
var filter = require('./decide');

var LARGEST_BODY = 16777216;
// What a client may send ahead of its replies before it has to wait.
var LARGEST_AHEAD = 65536;
var LINGER_MS = 500;

var REASONS = {
  200: 'OK', 204: 'No Content', 400: 'Bad Request', 413: 'Content Too Large', 431: 'Request Header Fields Too Large',
  502: 'Bad Gateway', 504: 'Gateway Timeout'
};

function Client(socket, backend) {
  var self = this;
  this.socket = socket;
  this.backend = backend;
  this.parser = new Parser(this, false);
  this.head = null;
  this.pieces = [];
  this.size = 0;
  this.busy = false;
  this.closing = false;
  this.exchange = null;
  socket.setNoDelay(true);
  socket.on('data', function (bytes) { self.onData(bytes); });
  socket.on('drain', function () { if (self.exchange !== null) self.exchange.resume(); });
  // A client may close its half and wait for the reply.
  socket.on('end', function () { self.close(); });
  // What follows an error is a close.
  socket.on('error', function () {});
}

module.exports = Client;

// Closes the connection, after the reply that is under way.
Client.prototype.close = function () {
  this.closing = true;
  if (!this.busy) this.end();
};

Client.prototype.end = function () {
  var socket = this.socket;
  socket.end();
  // What the client still sends is read for a while: to close at once might destroy the reply on its way.
  socket.setTimeout(LINGER_MS, function () { socket.destroy(); });
};

Client.prototype.onData = function (bytes) {
  this.parser.feed(bytes);
  if (this.busy && this.parser.rest !== null && this.parser.rest.length > LARGEST_AHEAD) this.socket.pause();
};

Client.prototype.onHead = function (head) {
  this.head = head;
  this.pieces = [];
  this.size = 0;
  if (head.minor === '0' || headers.connectionTokens(head.headers).indexOf('close') !== -1) this.closing = true;
  if (head.length > LARGEST_BODY) this.parser.fail(413);
  else if (headers.find(head.headers, 'expect').toLowerCase() === '100-continue' && head.minor === '1') {
    this.socket.write('HTTP/1.1 100 Continue\r\n\r\n');
  }
};

Client.prototype.onBody = function (bytes) {
  this.size += bytes.length;
  this.pieces.push(bytes);
  if (this.size > LARGEST_BODY) this.parser.fail(413);
};

Client.prototype.onBroken = function (status) {
  this.closing = true;
  this.reply(status, '');
};

Client.prototype.onEnd = function () {
  this.parser.paused = true;
  this.busy = true;
  var method = this.head.method;
  if ((method === 'GET' || method === 'HEAD') && this.head.target.split('?')[0] === '/nop') {
    this.reply(200, method === 'HEAD' ? '' : 'OK');
    return;
  }
  var body = this.pieces.length === 1 ? this.pieces[0] : Buffer.concat(this.pieces, this.size);
  var decision = filter.decide(headers.find(this.head.headers, 'content-type'), body);
  if (decision === filter.DROP) this.reply(204, '');
  else if (decision === filter.BROKEN) this.reply(400, '');
  else this.relay(body);
};

Client.prototype.relay = function (body) {
  var head = this.head;
  // The form with a host in it is for proxies alone.
  var target = head.target.replace(/^http:\/\/[^\/?#]*/i, '') || '/';
  var lines = head.method + ' ' + target + ' HTTP/1.1\r\n' + headers.endToEnd(head.headers);
  if (head.chunked) lines += 'Content-Length: ' + body.length + '\r\n';
  this.exchange = new Exchange(this, head);
  this.backend.send({ method: head.method, bytes: Exchange.join(lines + '\r\n', body) }, this.exchange);
};

// A reply of the relay itself.
Client.prototype.reply = function (status, text) {
  var lines = 'HTTP/1.1 ' + status + ' ' + REASONS[status] + '\r\n' + this.connectionLine();
  if (status !== 204) lines += 'Content-Type: text/plain\r\nContent-Length: ' + text.length + '\r\n';
  this.socket.write(lines + '\r\n' + text, 'binary');
  this.done();
};

Client.prototype.connectionLine = function () {
  return this.closing ? 'Connection: close\r\n' : '';
};

// The reply is written: the next request is taken up.
Client.prototype.done = function () {
  this.exchange = null;
  this.busy = false;
  if (this.closing) {
    this.end();
    return;
  }
  this.parser.resume();
  if (!this.busy) this.socket.resume();
};
