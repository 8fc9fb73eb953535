use roscius::prelude::*;

async fn get_weather() -> Result<String, String> {
    Err("no weather".to_owned())
}

fn main() {
    let _ = Tool::new("get_weather", get_weather);
}
