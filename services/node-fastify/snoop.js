'use strict';

const escapeHtml = require('escape-html');

module.exports = async (app) => {
  app.get('/', async (request, reply) => {
    let page = '<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n';
    // request.headers would join or drop the headers that are there twice.
    const raw = request.raw.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      page += `HEADER: ${escapeHtml(raw[i].toLowerCase())} = ${escapeHtml(raw[i + 1])}\n`;
    }
    reply.type('text/html; charset=utf-8');
    return page + '</pre></body></html>\n';
  });
};
