package service;

import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.ErrorCodes;
import io.modelcontextprotocol.spec.McpSchema.PromptMessage;
import io.modelcontextprotocol.spec.McpSchema.Role;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import org.springframework.ai.mcp.annotation.McpArg;
import org.springframework.ai.mcp.annotation.McpPrompt;
import org.springframework.ai.mcp.annotation.McpResource;
import org.springframework.ai.mcp.annotation.McpTool;
import org.springframework.stereotype.Component;

/** What the server offers: three tools, a resource and a prompt. */
@Component
public class Features {
    @McpTool(name = "echo", description = "Returns the message.")
    public String echo(String message) {
        return message;
    }

    @McpTool(name = "add", description = "Adds two integers.")
    public long add(long a, long b) {
        return a + b;
    }

    @McpTool(name = "item", description = "Looks up an item.", generateOutputSchema = true)
    public Item item(int id) {
        return Item.find(id).orElseThrow(() -> new IllegalArgumentException("no such item"));
    }

    @McpResource(uri = "item://{id}", name = "item", mimeType = "text/plain")
    public String read(String id) {
        return Item.find(id.matches("[0-9]{1,7}") ? Integer.parseInt(id) : 0)
                .orElseThrow(() -> McpError.RESOURCE_NOT_FOUND.apply("item://" + id))
                .costs();
    }

    @McpPrompt(name = "greet")
    public PromptMessage greet(@McpArg(name = "name", required = true) String name) {
        if (name == null) {
            throw McpError.builder(ErrorCodes.INVALID_PARAMS).message("name is missing").build();
        }
        return PromptMessage.builder(Role.USER, TextContent.builder("Greet " + name + ".").build()).build();
    }
}
