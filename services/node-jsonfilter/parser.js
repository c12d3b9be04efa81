'use strict';
// HTTP/1.1 messages out of bytes that come in any pieces. Knows no socket. In the JavaScript of Node.js 0.10.
//
// A receiver is told onHead(head), onBody(bytes) any number of times, onEnd(), or onBroken(status) once at most.

var LARGEST_HEAD = 65536;

var REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP\/1\.([01])$/;
var STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9][0-9])(?: (.*))?$/;
var HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;
var CHUNK_LINE = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?$/;

function Parser(receiver, isReply) {
  this.receiver = receiver;
  this.isReply = isReply;
  // A reply to HEAD announces a body that does not come.
  this.withoutBody = false;
  // Set by the receiver in onEnd to keep the next message waiting.
  this.paused = false;
  this.rest = null;
  this.left = 0;
  this.read = this.readHead;
  this.feeding = false;
}

module.exports = Parser;

Parser.prototype.feed = function (bytes) {
  this.rest = this.rest === null ? bytes : Buffer.concat([this.rest, bytes]);
  this.resume();
};

Parser.prototype.resume = function () {
  this.paused = false;
  // The loop that is running goes on by itself: calls would nest with each message of a long packet.
  if (this.feeding) return;
  this.feeding = true;
  var bytes = this.rest;
  var at = 0;
  this.rest = null;
  while (!this.paused && bytes !== null && at < bytes.length) {
    var next = this.read(bytes, at);
    if (next === -1) break;
    at = next;
  }
  this.feeding = false;
  if (bytes !== null && at < bytes.length) this.rest = at === 0 ? bytes : bytes.slice(at);
};

// No more bytes will come: the end of a message that lasts until then, the break of any other.
Parser.prototype.finish = function () {
  if (this.read === this.readUntilEnd) this.end();
  else if (this.read !== this.readHead || this.rest !== null) this.fail(400);
};

// Each reader takes bytes from a position on and returns the next position, -1 where it needs more.

Parser.prototype.readHead = function (bytes, at) {
  // An empty line before a message is to be overlooked (RFC 9112, 2.2).
  while (bytes[at] === 13 && bytes[at + 1] === 10) at += 2;
  var end = endOfHead(bytes, at);
  if (end === -1) {
    if (bytes.length - at > LARGEST_HEAD) return this.fail(431);
    return -1;
  }
  var head = parseHead(bytes.toString('binary', at, end), this.isReply);
  if (head === null) return this.fail(400);
  return this.startBody(head, end + 4);
};

Parser.prototype.startBody = function (head, at) {
  var framing = framingOf(head, this.isReply, this.withoutBody);
  if (framing === null) return this.fail(400);
  if (framing.interim) return at;
  head.chunked = framing.chunked;
  head.length = framing.length;
  this.left = framing.length;
  if (framing.chunked) this.read = this.readChunkLine;
  else if (framing.untilEnd) this.read = this.readUntilEnd;
  else if (framing.length > 0) this.read = this.readLength;
  head.untilEnd = framing.untilEnd;
  this.receiver.onHead(head);
  if (this.read === this.readHead) this.end();
  return at;
};

Parser.prototype.readLength = function (bytes, at) {
  at = this.take(bytes, at);
  if (this.left === 0 && this.read === this.readLength) this.end();
  return at;
};

Parser.prototype.readUntilEnd = function (bytes, at) {
  this.receiver.onBody(at === 0 ? bytes : bytes.slice(at));
  return bytes.length;
};

Parser.prototype.readChunkLine = function (bytes, at) {
  var end = endOfLine(bytes, at);
  if (end === -1) return bytes.length - at > LARGEST_HEAD ? this.fail(400) : -1;
  var size = CHUNK_LINE.exec(bytes.toString('binary', at, end));
  if (size === null) return this.fail(400);
  this.left = parseInt(size[1], 16);
  this.read = this.left === 0 ? this.readTrailer : this.readChunk;
  return end + 2;
};

Parser.prototype.readChunk = function (bytes, at) {
  at = this.take(bytes, at);
  if (this.left === 0 && this.read === this.readChunk) this.read = this.readChunkEnd;
  return at;
};

Parser.prototype.readChunkEnd = function (bytes, at) {
  if (bytes.length - at < 2) return -1;
  if (bytes[at] !== 13 || bytes[at + 1] !== 10) return this.fail(400);
  this.read = this.readChunkLine;
  return at + 2;
};

// Trailers are read over: nothing here needs them.
Parser.prototype.readTrailer = function (bytes, at) {
  var end = endOfLine(bytes, at);
  if (end === -1) return bytes.length - at > LARGEST_HEAD ? this.fail(400) : -1;
  if (end === at) this.end();
  return end + 2;
};

Parser.prototype.take = function (bytes, at) {
  var end = Math.min(bytes.length, at + this.left);
  this.left -= end - at;
  this.receiver.onBody(at === 0 && end === bytes.length ? bytes : bytes.slice(at, end));
  return end;
};

Parser.prototype.end = function () {
  this.read = this.readHead;
  this.receiver.onEnd();
};

// The receiver may call it too, from onHead or onBody.
Parser.prototype.fail = function (status) {
  this.read = ignore;
  this.receiver.onBroken(status);
  return -1;
};

// What follows a broken message means nothing.
function ignore(bytes) {
  return bytes.length;
}

function endOfHead(bytes, at) {
  for (var i = at; i + 3 < bytes.length; i++) {
    if (bytes[i] === 13 && bytes[i + 1] === 10 && bytes[i + 2] === 13 && bytes[i + 3] === 10) return i;
  }
  return -1;
}

function endOfLine(bytes, at) {
  for (var i = at; i + 1 < bytes.length; i++) {
    if (bytes[i] === 13 && bytes[i + 1] === 10) return i;
  }
  return -1;
}

// headers: [name, value, name, value, …] as they came, one character per byte.
function parseHead(text, isReply) {
  var lines = text.split('\r\n');
  var first = (isReply ? STATUS_LINE : REQUEST_LINE).exec(lines[0]);
  if (first === null) return null;
  var headers = [];
  for (var i = 1; i < lines.length; i++) {
    var header = HEADER_LINE.exec(lines[i]);
    if (header === null) return null;
    headers.push(header[1], header[2]);
  }
  if (isReply) return { minor: first[1], status: Number(first[2]), reason: first[3] || '', headers: headers };
  return { method: first[1], target: first[2], minor: first[3], headers: headers };
}

// How the body of a message is delimited (RFC 9112, 6.3); null where its headers contradict each other.
function framingOf(head, isReply, withoutBody) {
  var framing = { interim: false, chunked: false, untilEnd: false, length: 0 };
  var length = null;
  for (var i = 0; i < head.headers.length; i += 2) {
    var name = head.headers[i].toLowerCase();
    var value = head.headers[i + 1];
    if (name === 'content-length') {
      if (!/^[0-9]{1,15}$/.test(value) || (length !== null && length !== Number(value))) return null;
      length = Number(value);
    } else if (name === 'transfer-encoding') {
      if (value.toLowerCase() !== 'chunked') return null;
      framing.chunked = true;
    }
  }
  if (framing.chunked && length !== null) return null;
  framing.length = length === null ? 0 : length;
  if (!isReply) return framing;
  if (head.status < 200) return { interim: true };
  if (withoutBody || head.status === 204 || head.status === 304) {
    return { interim: false, chunked: false, untilEnd: false, length: 0 };
  }
  framing.untilEnd = !framing.chunked && length === null;
  return framing;
}
