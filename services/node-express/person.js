'use strict';

const express = require('express');
const persons = require('./persons.json');

const links = [[1, 2], [1, 3], [2, 3], [4, 1]].map(([p1, p2]) => ({ p1: persons[p1 - 1], p2: persons[p2 - 1] }));

const text = (value) => typeof value === 'string';
const int32 = (value) => Number.isInteger(value) && value === (value | 0);
const record = (members) => (value) =>
  value !== null && typeof value === 'object' && Object.keys(members).every((key) => members[key](value[key]));
const optional = (valid) => (value) => value === undefined || value === null || valid(value);

const isPerson = record({
  id: text,
  name: record({ title: text, first: text, last: text }),
  gender: text,
  location: record({ street: text, city: text, state: text, postCode: int32 }),
  email: text,
  picture: optional(record({ large: text, medium: text, thumbnail: text })),
});

module.exports = (app) => {
  app.get('/person', (request, response) => {
    response.json({ persons, count: persons.length });
  });

  app.get('/person/:id', (request, response) => {
    const person = persons.find(({ id }) => id === request.params.id);
    if (person === undefined) response.status(404).type('text/plain').send('no person has this id');
    else response.json(person);
  });

  app.get('/person/:id/links', (request, response) => {
    const { id } = request.params;
    const found = links.filter(({ p1, p2 }) => p1.id === id || p2.id === id);
    response.json({ links: found, count: found.length });
  });

  app.post('/person', express.json(), (request, response) => {
    if (isPerson(request.body)) response.json(request.body);
    else response.status(400).type('text/plain').send('a member is missing or has another type');
  });
};
