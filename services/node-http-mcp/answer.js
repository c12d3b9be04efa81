'use strict';

const { METHOD_NOT_FOUND, check, parse } = require('./protocol');
const { run } = require('./methods');

// The status and the reply to the body of a request; a notification has no reply.
exports.answer = function answer(headers, body) {
  const { message, error } = parse(body);
  if (error === undefined && message.id === undefined) return { status: 202 };
  const outcome = attempt(headers, message, error);
  return { status: statusOf(outcome), reply: { jsonrpc: '2.0', id: message?.id ?? null, ...outcome } };
};

// The result or the error of a request.
function attempt(headers, message, unread) {
  const error = unread ?? check(message, headers);
  return error === undefined ? run(message) : { error };
}

function statusOf({ error }) {
  if (error === undefined) return 200;
  return error.code === METHOD_NOT_FOUND ? 404 : 400;
}
