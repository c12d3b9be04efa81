'use strict';

const { createDecoder, createVerifier } = require('fast-jwt');
const { Refusal } = require('./refusal');

const rules = { allowedIss: 'prony', allowedAud: 'account', requiredClaims: ['iss', 'aud', 'exp', 'sub'] };
const decode = createDecoder({ complete: true });

// Each algorithm has its own key: a public key is no secret to sign with.
const verifiers = new Map([['HS256', createVerifier({ ...rules, key: process.env.JWT_SECRET, algorithms: ['HS256'] })]]);
if (process.env.JWT_PUBLIC_KEY) {
  verifiers.set('ES256', createVerifier({ ...rules, key: process.env.JWT_PUBLIC_KEY, algorithms: ['ES256'] }));
}

// What a request's token says, if the token is ours and valid.
exports.claimsOf = function claimsOf(authorization = '') {
  const [, token = ''] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  try {
    return verifiers.get(decode(token).header.alg)(token);
  } catch {
    throw new Refusal(401, 'a valid token is needed');
  }
};

// Whether the bearer may see and change an account.
exports.may = ({ sub, scope }, account) => sub === account || (typeof scope === 'string' && scope.split(' ').includes('admin'));
