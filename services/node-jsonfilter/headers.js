'use strict';
// Headers as lists: [name, value, name, value, …].

// Those of one connection alone (RFC 9110, 7.6.1). Transfer-Encoding is written anew for each side.
var HOP_BY_HOP = {
  'connection': true, 'keep-alive': true, 'proxy-connection': true, 'te': true, 'trailer': true,
  'transfer-encoding': true, 'upgrade': true
};

// The first value of a header; the name in lower case.
exports.find = function find(headers, name) {
  for (var i = 0; i < headers.length; i += 2) {
    if (headers[i].length === name.length && headers[i].toLowerCase() === name) return headers[i + 1];
  }
  return '';
};

// The tokens of all Connection headers, in lower case.
var connectionTokens = exports.connectionTokens = function (headers) {
  var tokens = [];
  for (var i = 0; i < headers.length; i += 2) {
    if (headers[i].toLowerCase() === 'connection') {
      headers[i + 1].split(',').forEach(function (token) { tokens.push(token.trim().toLowerCase()); });
    }
  }
  return tokens;
};

// The lines of the headers that go to the other side.
exports.endToEnd = function endToEnd(headers) {
  var named = connectionTokens(headers);
  var lines = '';
  for (var i = 0; i < headers.length; i += 2) {
    var name = headers[i].toLowerCase();
    if (HOP_BY_HOP[name] !== true && named.indexOf(name) === -1) lines += headers[i] + ': ' + headers[i + 1] + '\r\n';
  }
  return lines;
};
