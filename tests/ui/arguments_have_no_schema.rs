use roscius::prelude::*;

#[derive(serde::Deserialize)]
struct City {
    city: String,
}

async fn get_weather(Args(q): Args<City>) -> String {
    q.city
}

fn main() {
    let _ = Tool::new("get_weather", get_weather);
}
