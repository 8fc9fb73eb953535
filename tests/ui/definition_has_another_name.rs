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

async fn ask(client: &McpClient, city: City) {
    let _ = client.call(&GET_WETHER, city).await;
}

fn main() {
    let _ = GET_WEATHER;
}
