'use strict';

const { send } = require('./hello');

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text) => text.replace(/[&<>"']/g, (character) => ENTITIES[character]);

exports.snoop = function snoop(request, response) {
  let page = '<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n';
  // request.headers would join or drop the headers that are there twice.
  const raw = request.rawHeaders;
  for (let i = 0; i < raw.length; i += 2) {
    page += `HEADER: ${escape(raw[i].toLowerCase())} = ${escape(raw[i + 1])}\n`;
  }
  page += '</pre></body></html>\n';
  send(response, 200, 'text/html; charset=utf-8', page);
};
