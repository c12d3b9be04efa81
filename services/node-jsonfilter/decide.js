'use strict';
// What happens to a request: the filter itself.

var RELAY = exports.RELAY = 'relay';
var DROP = exports.DROP = 'drop';
var BROKEN = exports.BROKEN = 'broken';

exports.decide = function decide(contentType, body) {
  if (contentType.split(';')[0].trim().toLowerCase() !== 'application/json') return RELAY;
  var message;
  try {
    message = JSON.parse(body.toString('utf8'));
  } catch (error) {
    return BROKEN;
  }
  return message !== null && message.drop === true ? DROP : RELAY;
};
