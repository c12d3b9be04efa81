const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text) => text.replace(/[&<>"']/g, (character) => ENTITIES[character]);

export function snoop(request) {
  let page = '<!DOCTYPE html>\n<html><head><title>Headers</title></head><body><pre>\n';
  for (const [name, value] of request.headers) {
    page += `HEADER: ${escape(name)} = ${escape(value)}\n`;
  }
  page += '</pre></body></html>\n';
  return new Response(page, { headers: { 'Content-Type': 'text/html; charset=utf-8' } });
}
