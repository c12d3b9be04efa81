package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
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

func newServer() *server.MCPServer {
	s := server.NewMCPServer("go-mcp-mark3labs", "1",
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(false, false),
		server.WithPromptCapabilities(false),
		// Otherwise a missing argument is zero.
		server.WithInputSchemaValidation(),
	)
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("Returns the message."),
		mcp.WithString("message", mcp.Required())), mcp.NewTypedToolHandler(echo))
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("Adds two integers."),
		mcp.WithInteger("a", mcp.Required()), mcp.WithInteger("b", mcp.Required())), mcp.NewTypedToolHandler(add))
	s.AddTool(mcp.NewTool("item", mcp.WithDescription("Looks up an item."),
		mcp.WithInteger("id", mcp.Required()), mcp.WithOutputSchema[Item]()), mcp.NewStructuredToolHandler(item))
	s.AddResourceTemplate(
		mcp.NewResourceTemplate("item://{id}", "item", mcp.WithTemplateMIMEType("text/plain")), readItem)
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithArgument("name", mcp.RequiredArgument())), greet)
	return s
}

func echo(ctx context.Context, request mcp.CallToolRequest, input EchoInput) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(input.Message), nil
}

func add(ctx context.Context, request mcp.CallToolRequest, input AddInput) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(strconv.FormatInt(input.A+input.B, 10)), nil
}

func item(ctx context.Context, request mcp.CallToolRequest, input ItemInput) (Item, error) {
	item, ok := findItem(input.ID)
	if !ok {
		return Item{}, fmt.Errorf("id must be from 1 to %d", largestID)
	}
	return item, nil
}

func readItem(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	uri := request.Params.URI
	id, err := strconv.Atoi(strings.TrimPrefix(uri, "item://"))
	item, ok := findItem(id)
	if err != nil || !ok {
		return nil, fmt.Errorf("%w: %s", server.ErrResourceNotFound, uri)
	}
	text := fmt.Sprintf("%s costs %d", item.Name, item.Price)
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: text}}, nil
}

func greet(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	name, ok := request.Params.Arguments["name"]
	if !ok {
		return nil, fmt.Errorf("%w: name is missing", mcp.ErrInvalidParams)
	}
	return &mcp.GetPromptResult{
		Messages: []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Greet "+name+"."))},
	}, nil
}
