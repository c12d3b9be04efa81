"""Bearer tokens and their keys."""

import os

import jwt

# Each algorithm has its own key: a public key must not be used as a secret.
KEYS = {"HS256": os.environ.get("JWT_SECRET"), "ES256": os.environ.get("JWT_PUBLIC_KEY")}


def claims(authorization: str | None) -> dict | None:
    """The claims of the token in an Authorization header, if it is valid."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    try:
        algorithm = jwt.get_unverified_header(token)["alg"]
        return jwt.decode(
            token,
            KEYS[algorithm],
            algorithms=[algorithm],
            issuer="prony",
            audience="account",
            options={"require": ["exp", "sub", "iss", "aud"]},
        )
    except (jwt.InvalidTokenError, KeyError):
        return None


def may(claims: dict, id: str) -> bool:
    """Whether these claims give access to an account."""
    return claims["sub"] == id or "admin" in str(claims.get("scope", "")).split()
