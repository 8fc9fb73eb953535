use roscius::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

struct Db;

async fn get_weather(Args(q): Args<City>, _cx: ToolCx, _db: Db) -> String {
    q.city
}

fn main() {
    let _ = Tool::new("get_weather", get_weather);
}
