use roscius::prelude::*;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    celsius: f32,
}

const CITY: ResourceDef<City> = ResourceDef::template("city://{city}");

async fn read(client: &McpClient, city: City) {
    let _ = client.read(&CITY, city.city).await;
}

async fn city(Vars(of): Vars<Weather>) -> String {
    of.celsius.to_string()
}

fn main() {
    let _ = CITY.implement(city);
}
