'use strict';
// A relayed request: its reply is streamed from the backend to the client.

var headers = require('./headers');

// In some engines Buffer.from is that of typed arrays, and in others new Buffer is removed or prints a warning.
var isOld = !Buffer.from || Buffer.from === Uint8Array.from;

function toBytes(text) {
  return isOld ? new Buffer(text, 'binary') : Buffer.from(text, 'binary');
}

function Exchange(client, request) {
  this.client = client;
  this.request = request;
  this.connection = null;
  // The head is held back, to be sent together with the first bytes of the body.
  this.head = null;
  this.sent = false;
  this.chunked = false;
}

module.exports = Exchange;

// A head that a body follows.
Exchange.join = function (head, body) {
  return body.length === 0 ? toBytes(head) : Buffer.concat([toBytes(head), body]);
};

Exchange.prototype.onHead = function (reply) {
  var client = this.client;
  var unsized = reply.chunked || reply.untilEnd;
  // HTTP/1.0 has no chunks: the end of the connection ends the body.
  this.chunked = unsized && this.request.minor === '1';
  if (unsized && !this.chunked) client.closing = true;
  this.head = 'HTTP/1.1 ' + reply.status + ' ' + reply.reason + '\r\n' + headers.endToEnd(reply.headers) +
    client.connectionLine() + (this.chunked ? 'Transfer-Encoding: chunked\r\n' : '') + '\r\n';
};

// Called when no more data is available: the head does not wait for a body that has not arrived yet.
Exchange.prototype.sendHead = function () {
  if (this.head !== null) this.write(toBytes(''));
};

Exchange.prototype.onBody = function (bytes) {
  if (this.chunked) bytes = Buffer.concat([toBytes(bytes.length.toString(16) + '\r\n'), bytes, toBytes('\r\n')]);
  this.write(bytes);
};

Exchange.prototype.onEnd = function () {
  if (this.chunked) this.write(toBytes('0\r\n\r\n'));
  this.sendHead();
  this.client.done();
};

Exchange.prototype.onFailure = function (status) {
  if (this.head === null && !this.sent) this.client.reply(status, '');
  // A truncated reply must not look complete.
  else this.client.socket.destroy();
};

Exchange.prototype.write = function (bytes) {
  var head = this.head;
  this.head = null;
  this.sent = true;
  var taken = head === null ? this.client.socket.write(bytes) :
    bytes.length === 0 ? this.client.socket.write(head, 'binary') : this.client.socket.write(Exchange.join(head, bytes));
  // A slow client slows the backend down. After the last byte there is nothing to hold back.
  if (!taken && this.connection.exchange === this) this.connection.pause();
};

Exchange.prototype.resume = function () {
  if (this.connection.exchange === this) this.connection.resume();
};
