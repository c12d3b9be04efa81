'use strict';
// One request that was relayed: its reply goes from the backend to the client as it comes.

var headers = require('./headers');

// Buffer.from is that of the typed arrays in some engines, and new Buffer is gone or noisy in others.
var isOld = !Buffer.from || Buffer.from === Uint8Array.from;

function toBytes(text) {
  return isOld ? new Buffer(text, 'binary') : Buffer.from(text, 'binary');
}

function Exchange(client, request) {
  this.client = client;
  this.request = request;
  this.connection = null;
  // The head waits for the first bytes of the body, to leave together with them.
  this.head = null;
  this.sent = false;
  this.chunked = false;
}

module.exports = Exchange;

// A head in front of a body.
Exchange.join = function (head, body) {
  return body.length === 0 ? toBytes(head) : Buffer.concat([toBytes(head), body]);
};

Exchange.prototype.onHead = function (reply) {
  var client = this.client;
  var unsized = reply.chunked || reply.untilEnd;
  // HTTP/1.0 knows no chunks: there the end of the connection ends the body.
  this.chunked = unsized && this.request.minor === '1';
  if (unsized && !this.chunked) client.closing = true;
  this.head = 'HTTP/1.1 ' + reply.status + ' ' + reply.reason + '\r\n' + headers.endToEnd(reply.headers) +
    client.connectionLine() + (this.chunked ? 'Transfer-Encoding: chunked\r\n' : '') + '\r\n';
};

// Called when the backend has sent no more yet: a body that is still to come does not hold the head back.
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
  // Half a reply must not look like a whole one.
  else this.client.socket.destroy();
};

Exchange.prototype.write = function (bytes) {
  var head = this.head;
  this.head = null;
  this.sent = true;
  var taken = head === null ? this.client.socket.write(bytes) :
    bytes.length === 0 ? this.client.socket.write(head, 'binary') : this.client.socket.write(Exchange.join(head, bytes));
  // A client that reads slowly slows the backend down. After the last byte there is nothing to hold.
  if (!taken && this.connection.exchange === this) this.connection.pause();
};

Exchange.prototype.resume = function () {
  if (this.connection.exchange === this) this.connection.resume();
};
