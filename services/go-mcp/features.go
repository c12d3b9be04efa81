package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type EchoInput struct {
	Message string `json:"message"`
}

type AddInput struct {
	A int64 `json:"a"`
	B int64 `json:"b"`
}

type ItemInput struct {
	ID int `json:"id"`
}

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go-mcp", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns the message."}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two integers."}, add)
	mcp.AddTool(server, &mcp.Tool{Name: "item", Description: "Looks up an item."}, item)
	server.AddResourceTemplate(
		&mcp.ResourceTemplate{Name: "item", MIMEType: "text/plain", URITemplate: "item://{id}"}, readItem)
	server.AddPrompt(
		&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}}, greet)
	return server
}

func echo(ctx context.Context, request *mcp.CallToolRequest, input EchoInput) (*mcp.CallToolResult, any, error) {
	return text(input.Message), nil, nil
}

func add(ctx context.Context, request *mcp.CallToolRequest, input AddInput) (*mcp.CallToolResult, any, error) {
	return text(strconv.FormatInt(input.A+input.B, 10)), nil, nil
}

// item leaves the text to the SDK: it is the output as JSON.
func item(ctx context.Context, request *mcp.CallToolRequest, input ItemInput) (*mcp.CallToolResult, Item, error) {
	item, ok := findItem(input.ID)
	if !ok {
		return nil, Item{}, fmt.Errorf("id must be from 1 to %d", largestID)
	}
	return nil, item, nil
}

func readItem(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := request.Params.URI
	id, err := strconv.Atoi(strings.TrimPrefix(uri, "item://"))
	item, ok := findItem(id)
	if err != nil || !ok {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	text := fmt.Sprintf("%s costs %d", item.Name, item.Price)
	return &mcp.ReadResourceResult{
		Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}},
	}, nil
}

func greet(ctx context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	name, ok := request.Params.Arguments["name"]
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "name is missing"}
	}
	return &mcp.GetPromptResult{
		Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Greet " + name + "."}}},
	}, nil
}

func text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
