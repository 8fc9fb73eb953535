use roscius::prelude::*;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    celsius: f32,
}

fn offer(server: &McpServer) -> Mcp {
    Mcp::clients([server.direct()])
}

fn main() {
    let _ = (City { city: String::new() }, Weather { celsius: 7.0 });
}
