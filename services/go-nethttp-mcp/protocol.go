package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

const revision = "2026-07-28"

// Codes of JSON-RPC, and of the protocol.
const (
	parseError         = -32700
	invalidRequest     = -32600
	methodNotFound     = -32601
	invalidParams      = -32602
	headerMismatch     = -32020
	unsupportedVersion = -32022
)

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  params          `json:"params"`
}

type params struct {
	Name      string          `json:"name"`
	URI       string          `json:"uri"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		Version      string                     `json:"io.modelcontextprotocol/protocolVersion"`
		Capabilities map[string]json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// parse reads a request or a notification, which has no id.
func parse(body []byte) (request, *rpcError) {
	var message request
	if err := json.Unmarshal(body, &message); err != nil {
		var wrongType *json.UnmarshalTypeError
		switch {
		case !errors.As(err, &wrongType):
			return request{}, &rpcError{Code: parseError, Message: "not JSON"}
		case strings.HasPrefix(wrongType.Field, "params"):
			return message, &rpcError{Code: invalidParams, Message: err.Error()}
		default:
			return request{}, &rpcError{Code: invalidRequest, Message: "not a request"}
		}
	}
	if message.Version != "2.0" || message.Method == "" || !validID(message.ID) {
		return request{}, &rpcError{Code: invalidRequest, Message: "not a request of JSON-RPC 2.0"}
	}
	return message, nil
}

// validID takes a text, an integer, and the absence of both.
func validID(id json.RawMessage) bool {
	return id == nil || id[0] == '"' || (id[0] == '-' || '0' <= id[0] && id[0] <= '9') && !strings.ContainsAny(string(id), ".eE")
}

// check compares the metadata of the body with that of the headers.
func (r request) check(header http.Header) *rpcError {
	meta := r.Params.Meta
	if meta.Version == "" || meta.Capabilities == nil {
		return &rpcError{Code: invalidParams, Message: "_meta must have protocolVersion and clientCapabilities"}
	}
	if header.Get("MCP-Protocol-Version") != meta.Version {
		return &rpcError{Code: headerMismatch, Message: "MCP-Protocol-Version differs from the body"}
	}
	if meta.Version != revision {
		data := map[string]any{"supported": []string{revision}, "requested": meta.Version}
		return &rpcError{Code: unsupportedVersion, Message: "unsupported protocol version", Data: data}
	}
	if header.Get("Mcp-Method") != r.Method {
		return &rpcError{Code: headerMismatch, Message: "Mcp-Method differs from the body"}
	}
	if name, ok := r.name(); ok && decoded(header.Get("Mcp-Name")) != name {
		return &rpcError{Code: headerMismatch, Message: "Mcp-Name differs from the body"}
	}
	return nil
}

// name is what Mcp-Name repeats.
func (r request) name() (string, bool) {
	switch r.Method {
	case "tools/call", "prompts/get":
		return r.Params.Name, true
	case "resources/read":
		return r.Params.URI, true
	}
	return "", false
}

// decoded reads =?base64?…?= as the text in it.
func decoded(value string) string {
	encoded, ok := strings.CutPrefix(value, "=?base64?")
	encoded, ok2 := strings.CutSuffix(encoded, "?=")
	if !ok || !ok2 {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return value
	}
	return string(text)
}
