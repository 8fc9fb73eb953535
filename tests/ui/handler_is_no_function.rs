use roscius::prelude::*;

fn get_weather() -> String {
    "sunny".to_owned()
}

fn main() {
    let _ = Tool::new("get_weather", get_weather);
}
