use roscius::prelude::*;

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Weather {
    celsius: f32,
}

async fn get_weather() -> Result<Weather, ToolError> {
    Ok(Weather { celsius: 20.0 })
}

fn main() {
    let _ = Tool::new("get_weather", get_weather);
}
