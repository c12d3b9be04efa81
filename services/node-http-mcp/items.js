'use strict';

const LARGEST_ID = 1000000;

const ADJECTIVES = 'amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain'.split(' ');
const NOUNS = 'anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow'.split(' ');
const TAGS =
  'attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic shelf travel'.split(' ');

// The item of a shop with a number from 1 to LARGEST_ID, computed from it, or undefined.
exports.find = function find(i) {
  if (!Number.isInteger(i) || i < 1 || i > LARGEST_ID) return undefined;
  return {
    id: i,
    name: `${ADJECTIVES[i % 16]} ${NOUNS[Math.floor(i / 16) % 16]} ${i}`,
    price: (i * 37) % 9900 + 100,
    tags: [TAGS[i % 20], TAGS[(i + 7) % 20], TAGS[(i + 13) % 20]],
  };
};
