'use strict';

const { createDecoder, createVerifier } = require('fast-jwt');
const { Refusal } = require('./refusal');

const rules = { allowedIss: 'prony', allowedAud: 'account', requiredClaims: ['iss', 'aud', 'exp', 'sub'] };
const decode = createDecoder({ complete: true });

// Each algorithm has its own key: a public key must not be used as a secret.
const verifiers = new Map([['HS256', createVerifier({ ...rules, key: process.env.JWT_SECRET, algorithms: ['HS256'] })]]);
if (process.env.JWT_PUBLIC_KEY) {
  verifiers.set('ES256', createVerifier({ ...rules, key: process.env.JWT_PUBLIC_KEY, algorithms: ['ES256'] }));
}

// The claims of a request's token if the token is valid.
exports.claimsOf = function claimsOf(authorization = '') {
  const [, token = ''] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  try {
    return verifiers.get(decode(token).header.alg)(token);
  } catch {
    throw new Refusal(401, 'a valid token is needed');
  }
};

// Whether the bearer may read and change an account.
exports.may = ({ sub, scope }, account) => sub === account || (typeof scope === 'string' && scope.split(' ').includes('admin'));
