use roscius::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

async fn get_weather(city: City) -> String {
    city.city
}

fn main() {
    let _ = Tool::new("get_weather", get_weather);
}
