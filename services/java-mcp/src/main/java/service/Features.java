package service;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ErrorCodes;
import io.modelcontextprotocol.spec.McpSchema.GetPromptRequest;
import io.modelcontextprotocol.spec.McpSchema.GetPromptResult;
import io.modelcontextprotocol.spec.McpSchema.Prompt;
import io.modelcontextprotocol.spec.McpSchema.PromptArgument;
import io.modelcontextprotocol.spec.McpSchema.PromptMessage;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceRequest;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceResult;
import io.modelcontextprotocol.spec.McpSchema.ResourceTemplate;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.TextResourceContents;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.util.List;
import java.util.function.Function;

/** What the server offers: three tools, a resource and a prompt. The SDK compares arguments with the schemas. */
final class Features {
    private static final McpJsonMapper JSON = McpJsonDefaults.getMapper();
    private static final String MESSAGE = """
            {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}""";
    private static final String SUMMANDS = """
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}""";
    private static final String NUMBER = """
            {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}""";
    private static final String ITEM = """
            {
              "type": "object",
              "properties": {
                "id": {"type": "integer"},
                "name": {"type": "string"},
                "price": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}}
              },
              "required": ["id", "name", "price", "tags"]
            }""";

    private Features() {}

    static List<SyncToolSpecification> tools() {
        return List.of(
                tool(Tool.builder("echo", JSON, MESSAGE).description("Returns the message.").build(), Features::echo),
                tool(Tool.builder("add", JSON, SUMMANDS).description("Adds two integers.").build(), Features::add),
                tool(Tool.builder("item", JSON, NUMBER).description("Looks up an item.").outputSchema(JSON, ITEM).build(),
                        Features::item));
    }

    static SyncResourceTemplateSpecification resource() {
        ResourceTemplate template = ResourceTemplate.builder("item://{id}", "item").mimeType("text/plain").build();
        return new SyncResourceTemplateSpecification(template, (exchange, request) -> read(request));
    }

    static SyncPromptSpecification prompt() {
        PromptArgument name = PromptArgument.builder("name").required(true).build();
        Prompt prompt = Prompt.builder("greet").arguments(List.of(name)).build();
        return new SyncPromptSpecification(prompt, (exchange, request) -> greet(request));
    }

    private static SyncToolSpecification tool(Tool tool, Function<CallToolRequest, CallToolResult> call) {
        return SyncToolSpecification.builder()
                .tool(tool)
                .callHandler((exchange, request) -> call.apply(request))
                .build();
    }

    private static CallToolResult echo(CallToolRequest request) {
        return text((String) request.arguments().get("message"));
    }

    private static CallToolResult add(CallToolRequest request) {
        return text(Long.toString(integer(request, "a") + integer(request, "b")));
    }

    /** The SDK adds the text. */
    private static CallToolResult item(CallToolRequest request) {
        return Item.find(integer(request, "id"))
                .map(item -> CallToolResult.builder().structuredContent(item).build())
                .orElseGet(() -> CallToolResult.builder().addTextContent("no such item").isError(true).build());
    }

    private static ReadResourceResult read(ReadResourceRequest request) {
        String id = request.uri().substring("item://".length());
        Item item = Item.find(id.matches("[0-9]{1,7}") ? Integer.parseInt(id) : 0)
                .orElseThrow(() -> McpError.RESOURCE_NOT_FOUND.apply(request.uri()));
        return ReadResourceResult.builder(List.of(
                TextResourceContents.builder(request.uri(), item.costs()).mimeType("text/plain").build())).build();
    }

    private static GetPromptResult greet(GetPromptRequest request) {
        Object name = request.arguments() == null ? null : request.arguments().get("name");
        if (name == null) {
            throw McpError.builder(ErrorCodes.INVALID_PARAMS).message("name is missing").build();
        }
        TextContent text = TextContent.builder("Greet " + name + ".").build();
        return GetPromptResult.builder(List.of(PromptMessage.builder(Role.USER, text).build())).build();
    }

    private static long integer(CallToolRequest request, String name) {
        return ((Number) request.arguments().get(name)).longValue();
    }

    private static CallToolResult text(String text) {
        return CallToolResult.builder().addTextContent(text).build();
    }
}
