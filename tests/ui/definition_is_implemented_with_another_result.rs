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

async fn get_weather(Args(q): Args<City>) -> Json<City> {
    Json(q)
}

fn main() {
    let _ = GET_WEATHER.implement(get_weather);
}
