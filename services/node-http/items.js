'use strict';

const LARGEST_FROM = 1000000;
const LARGEST_COUNT = 500;

const ADJECTIVES = 'amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain'.split(' ');
const NOUNS = 'anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow'.split(' ');
const TAGS =
  'attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic shelf travel'.split(' ');
const MATERIALS = 'ash brass clay cork cotton felt glass iron jute leather linen marble oak paper steel wool'.split(' ');
const CITIES =
  'Århus Bern Córdoba Dublin Évora Fès Gdańsk Helsinki Iași Jerez Kraków Łódź München Nîmes 大阪 Zürich'.split(' ');

// The items that a query asks for, or undefined.
exports.parse = function parse({ from, count }) {
  const first = integer(from, LARGEST_FROM);
  const length = integer(count, LARGEST_COUNT);
  if (first === undefined || length === undefined) return undefined;
  return { items: Array.from({ length }, (_, i) => item(first + i)) };
};

// An integer from 1 to `largest`, or undefined.
function integer(text, largest) {
  const n = /^[0-9]+$/.test(text) ? Number(text) : 0;
  return n >= 1 && n <= largest ? n : undefined;
}

function item(i) {
  const name = `${ADJECTIVES[i % 16]} ${NOUNS[Math.floor(i / 16) % 16]}`;
  return {
    id: i,
    name: `${name} ${i}`,
    price: (i * 37) % 9900 + 100,
    tags: [TAGS[i % 20], TAGS[(i + 7) % 20], TAGS[(i + 13) % 20]],
    description:
      `The ${name} no. ${i} is made of ${MATERIALS[(i * 7) % 16]}, weighs ${(i * 53) % 4900 + 100} g ` +
      `and ships from ${CITIES[(i * 11) % 16]} within ${i % 7 + 1} days. Customers who bought it also bought the ` +
      `"${ADJECTIVES[(i + 5) % 16]} ${NOUNS[(i + 3) % 16]}" & rate it <${i % 5 + 1} of 5>.`,
  };
}
