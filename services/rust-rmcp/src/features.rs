//! What the server offers: three tools, a resource and a prompt.

use rmcp::handler::server::router::prompt::PromptRouter;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    Implementation, PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, Role, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, prompt, prompt_handler, prompt_router, tool, tool_handler,
    tool_router,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::items::Item;

#[derive(Clone)]
pub struct Features {
    tool_router: ToolRouter<Self>,
    prompt_router: PromptRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Summands {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    id: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Person {
    name: String,
}

#[tool_router]
impl Features {
    pub fn new() -> Self {
        Self {
            tool_router: Self::tool_router(),
            prompt_router: Self::prompt_router(),
        }
    }

    /// Returns the message.
    #[tool]
    async fn echo(&self, Parameters(Message { message }): Parameters<Message>) -> String {
        message
    }

    /// Adds two integers.
    #[tool]
    async fn add(&self, Parameters(Summands { a, b }): Parameters<Summands>) -> String {
        a.saturating_add(b).to_string()
    }

    /// Looks up an item.
    #[tool]
    async fn item(&self, Parameters(Number { id }): Parameters<Number>) -> Result<Json<Item>, String> {
        Item::find(id).map(Json).ok_or_else(|| "no such item".to_owned())
    }
}

#[prompt_router]
impl Features {
    #[prompt]
    async fn greet(&self, Parameters(Person { name }): Parameters<Person>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Greet {name}."))]
    }
}

#[tool_handler(router = self.tool_router)]
#[prompt_handler(router = self.prompt_router)]
impl ServerHandler for Features {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources();
        ServerConfig::new(capabilities.build()).with_server_info(Implementation::new("rust-rmcp", "1"))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let number = request.uri.strip_prefix("item://").and_then(|id| id.parse().ok());
        let Some(item) = number.and_then(Item::find) else {
            return Err(ErrorData::resource_not_found("no such item", None));
        };
        let text = format!("{} costs {}", item.name, item.price);
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }
}
