use roscius::prelude::*;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    celsius: f32,
}

const DESCRIBE: PromptDef<City> = PromptDef::new("describe");

async fn ask(client: &McpClient, city: City) {
    let _ = client.call(&DESCRIBE, city).await;
}

fn main() {
    let _ = Weather { celsius: 7.0 };
}
