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

async fn ask(client: &McpClient, weather: Weather) {
    let _ = client.prompt(&DESCRIBE, weather).await;
}

fn main() {
    let _ = City { city: String::new() };
}
