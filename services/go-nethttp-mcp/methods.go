package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

//go:embed tools.json
var toolsJSON []byte

type object = map[string]any

var (
	capabilities = object{"tools": object{}, "resources": object{}, "prompts": object{}}
	serverInfo   = object{"name": "go-nethttp-mcp", "version": "1"}
)

func (r request) run() (any, *rpcError) {
	switch r.Method {
	case "server/discover":
		return cacheable(object{
			"supportedVersions": []string{revision},
			"capabilities":      capabilities,
			"_meta":             object{"io.modelcontextprotocol/serverInfo": serverInfo},
		}), nil
	case "tools/list":
		return cacheable(object{"tools": json.RawMessage(toolsJSON)}), nil
	case "tools/call":
		return r.callTool()
	case "resources/read":
		return r.readResource()
	case "prompts/get":
		return r.getPrompt()
	}
	return nil, &rpcError{Code: methodNotFound, Message: "unknown method " + r.Method}
}

func (r request) callTool() (any, *rpcError) {
	switch r.Params.Name {
	case "echo":
		var arguments struct{ Message *string }
		if json.Unmarshal(r.Params.Arguments, &arguments) != nil || arguments.Message == nil {
			return toolError("message must be a text"), nil
		}
		return textResult(*arguments.Message), nil
	case "add":
		var arguments struct{ A, B *int64 }
		if json.Unmarshal(r.Params.Arguments, &arguments) != nil || arguments.A == nil || arguments.B == nil {
			return toolError("a and b must be integers"), nil
		}
		return textResult(strconv.FormatInt(*arguments.A+*arguments.B, 10)), nil
	case "item":
		return callItem(r.Params.Arguments)
	}
	return nil, &rpcError{Code: invalidParams, Message: "unknown tool " + r.Params.Name}
}

func callItem(arguments json.RawMessage) (any, *rpcError) {
	var number struct{ ID int }
	if json.Unmarshal(arguments, &number) != nil {
		return toolError("id must be an integer"), nil
	}
	item, ok := findItem(number.ID)
	if !ok {
		return toolError(fmt.Sprintf("id must be from 1 to %d", largestID)), nil
	}
	text, _ := json.Marshal(item)
	result := textResult(string(text))
	result["structuredContent"] = item
	return result, nil
}

func (r request) readResource() (any, *rpcError) {
	id, ok := strings.CutPrefix(r.Params.URI, "item://")
	number, err := strconv.Atoi(id)
	item, found := findItem(number)
	if !ok || err != nil || !found {
		return nil, &rpcError{Code: invalidParams, Message: "unknown resource", Data: object{"uri": r.Params.URI}}
	}
	text := fmt.Sprintf("%s costs %d", item.Name, item.Price)
	return cacheable(object{"contents": []object{{"uri": r.Params.URI, "mimeType": "text/plain", "text": text}}}), nil
}

func (r request) getPrompt() (any, *rpcError) {
	var arguments struct{ Name *string }
	if r.Params.Name != "greet" {
		return nil, &rpcError{Code: invalidParams, Message: "unknown prompt " + r.Params.Name}
	}
	if json.Unmarshal(r.Params.Arguments, &arguments) != nil || arguments.Name == nil {
		return nil, &rpcError{Code: invalidParams, Message: "name must be a text"}
	}
	text := object{"type": "text", "text": "Greet " + *arguments.Name + "."}
	return complete(object{"messages": []object{{"role": "user", "content": text}}}), nil
}

func toolError(message string) object {
	result := textResult(message)
	result["isError"] = true
	return result
}

func textResult(text string) object {
	return complete(object{"content": []object{{"type": "text", "text": text}}})
}

// cacheable marks a result that a client may keep for a minute, which the revision with sessions does not know.
func cacheable(result object) object {
	if !hasSessions {
		result["ttlMs"] = 60_000
		result["cacheScope"] = "public"
	}
	return complete(result)
}

func complete(result object) object {
	if !hasSessions {
		result["resultType"] = "complete"
	}
	return result
}
