package service

import io.modelcontextprotocol.kotlin.sdk.server.Server
import io.modelcontextprotocol.kotlin.sdk.server.ServerOptions
import io.modelcontextprotocol.kotlin.sdk.types.CallToolRequest
import io.modelcontextprotocol.kotlin.sdk.types.CallToolResult
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequest
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptResult
import io.modelcontextprotocol.kotlin.sdk.types.Implementation
import io.modelcontextprotocol.kotlin.sdk.types.McpException
import io.modelcontextprotocol.kotlin.sdk.types.PromptArgument
import io.modelcontextprotocol.kotlin.sdk.types.PromptMessage
import io.modelcontextprotocol.kotlin.sdk.types.RPCError
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceResult
import io.modelcontextprotocol.kotlin.sdk.types.Role
import io.modelcontextprotocol.kotlin.sdk.types.ServerCapabilities
import io.modelcontextprotocol.kotlin.sdk.types.TextContent
import io.modelcontextprotocol.kotlin.sdk.types.TextResourceContents
import io.modelcontextprotocol.kotlin.sdk.types.ToolSchema
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.add
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject

/** A server with three tools, a resource and a prompt: each session has its own. */
fun createServer(): Server {
    val capabilities = ServerCapabilities(
        tools = ServerCapabilities.Tools(),
        resources = ServerCapabilities.Resources(),
        prompts = ServerCapabilities.Prompts(),
    )
    return Server(Implementation(name = "kotlin-mcp", version = "1"), ServerOptions(capabilities)).apply {
        addTool("echo", "Returns the message.", schema("message" to "string")) { text(it.string("message")) }
        addTool("add", "Adds two integers.", schema("a" to "integer", "b" to "integer")) {
            text((it.integer("a") + it.integer("b")).toString())
        }
        addTool("item", "Looks up an item.", schema("id" to "integer"), outputSchema = itemSchema()) {
            item(it.integer("id"))
        }
        addResourceTemplate("item://{id}", "item", mimeType = "text/plain") { request, variables ->
            readItem(request.params.uri, variables["id"])
        }
        addPrompt("greet", arguments = listOf(PromptArgument("name", required = true))) { greet(it) }
    }
}

private fun item(id: Long): CallToolResult {
    val item = findItem(id.toInt()) ?: return CallToolResult(listOf(TextContent("no such item")), isError = true)
    val json = buildJsonObject {
        put("id", item.id)
        put("name", item.name)
        put("price", item.price)
        putJsonArray("tags") { item.tags.forEach { add(it) } }
    }
    return CallToolResult(listOf(TextContent(json.toString())), structuredContent = json)
}

private fun readItem(uri: String, id: String?): ReadResourceResult {
    val item = id?.toIntOrNull()?.let(::findItem)
        ?: throw McpException(RPCError.ErrorCode.RESOURCE_NOT_FOUND, "no such item")
    val text = "${item.name} costs ${item.price}"
    return ReadResourceResult(listOf(TextResourceContents(text = text, uri = uri, mimeType = "text/plain")))
}

private fun greet(request: GetPromptRequest): GetPromptResult {
    val name = request.arguments?.get("name")
        ?: throw McpException(RPCError.ErrorCode.INVALID_PARAMS, "name is missing")
    return GetPromptResult(listOf(PromptMessage(Role.User, TextContent("Greet $name."))))
}

private fun text(text: String) = CallToolResult(listOf(TextContent(text)))

/** An argument; the SDK makes an error of the tool of what a handler throws. */
private fun CallToolRequest.argument(name: String): JsonPrimitive =
    requireNotNull(arguments?.get(name)) { "$name is missing" }.jsonPrimitive

private fun CallToolRequest.string(name: String): String =
    argument(name).also { require(it.isString) { "$name must be a text" } }.content

private fun CallToolRequest.integer(name: String): Long =
    argument(name).also { require(!it.isString) { "$name must be an integer" } }.long

private fun schema(vararg types: Pair<String, String>) = ToolSchema(
    properties = buildJsonObject { types.forEach { (name, type) -> putJsonObject(name) { put("type", type) } } },
    required = types.map { it.first },
)

private fun itemSchema() = ToolSchema(
    properties = buildJsonObject {
        putJsonObject("id") { put("type", "integer") }
        putJsonObject("name") { put("type", "string") }
        putJsonObject("price") { put("type", "integer") }
        putJsonObject("tags") {
            put("type", "array")
            putJsonObject("items") { put("type", "string") }
        }
    },
    required = listOf("id", "name", "price", "tags"),
)
