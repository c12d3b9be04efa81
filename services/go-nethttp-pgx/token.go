package main

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

type Claims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope"`
}

// may tells whether the bearer may see and change an account.
func (c *Claims) may(account string) bool {
	return c.Subject == account || slices.Contains(strings.Fields(c.Scope), "admin")
}

type Tokens struct {
	parser    *jwt.Parser
	secret    []byte
	publicKey any
}

func newTokens() Tokens {
	tokens := Tokens{
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{"HS256", "ES256"}),
			jwt.WithIssuer("prony"),
			jwt.WithAudience("account"),
			jwt.WithExpirationRequired(),
		),
		secret: []byte(os.Getenv("JWT_SECRET")),
	}
	if key, err := jwt.ParseECPublicKeyFromPEM([]byte(os.Getenv("JWT_PUBLIC_KEY"))); err == nil {
		tokens.publicKey = key
	}
	return tokens
}

// claims gives what a request's token says, if the token is ours and valid.
func (t Tokens) claims(r *http.Request) (*Claims, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, errors.New("no bearer token")
	}
	var claims Claims
	_, err := t.parser.ParseWithClaims(token, &claims, t.key)
	return &claims, err
}

// key gives the key of the algorithm alone: a public key is no secret to sign with.
func (t Tokens) key(token *jwt.Token) (any, error) {
	if token.Method == jwt.SigningMethodES256 {
		return t.publicKey, nil
	}
	return t.secret, nil
}
