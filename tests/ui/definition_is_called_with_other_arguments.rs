use roscius::prelude::*;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    celsius: f32,
}

const GET_WEATHER: ToolDef<City, Weather> = ToolDef::new("get_weather");

async fn ask(client: &McpClient) {
    let _ = client.call(&GET_WEATHER, Weather { celsius: 7.0 }).await;
}

fn main() {}
