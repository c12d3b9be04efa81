"""Bearer tokens: who signs them, and for whom."""

import os

import jwt

# Each algorithm has a key of its own: a public key is never taken for a secret.
KEYS = {"HS256": os.environ.get("JWT_SECRET"), "ES256": os.environ.get("JWT_PUBLIC_KEY")}


def claims(authorization: str | None) -> dict | None:
    """What the token of an Authorization header claims, if it is valid."""
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
    """Whether these claims open an account."""
    return claims["sub"] == id or "admin" in str(claims.get("scope", "")).split()
