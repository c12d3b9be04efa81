'use strict';

const LARGEST_QUANTITY = 1000;
const MOST_LINES = 20;
const LONGEST_NOTE = 500;

// What a client sent, in a form that can be looked up: what is no integer becomes 0, which no row has.
exports.readDraft = function readDraft({ customerId, note = null, lines }) {
  return {
    customerId: integer(customerId),
    note,
    lines: (Array.isArray(lines) ? lines : []).map((line) => ({
      productId: integer(line?.productId),
      quantity: integer(line?.quantity),
    })),
  };
};

function integer(value) {
  return Number.isSafeInteger(value) ? value : 0;
}

// Everything that is wrong with a draft at once.
exports.check = function check({ note, lines }, customerKnown, prices) {
  const faults = [];
  const fault = (field, code) => faults.push({ field, code });
  if (!customerKnown) fault('customerId', 'unknown');
  if (note !== null) checkNote(note, fault);
  if (lines.length < 1 || lines.length > MOST_LINES) fault('lines', 'range');
  lines.forEach(({ productId, quantity }, i) => {
    if (!prices.has(productId)) fault(`lines[${i}].productId`, 'unknown');
    if (quantity < 1 || quantity > LARGEST_QUANTITY) fault(`lines[${i}].quantity`, 'range');
  });
  return faults;
};

function checkNote(note, fault) {
  if (typeof note !== 'string') fault('note', 'type');
  else if ([...note].length > LONGEST_NOTE) fault('note', 'length');
  // PostgreSQL has no text with this character.
  else if (note.includes('\0')) fault('note', 'character');
}
