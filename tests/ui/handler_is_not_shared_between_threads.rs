use std::rc::Rc;

use roscius::prelude::*;

fn main() {
    let name = Rc::new("Oslo".to_owned());
    let _ = Tool::new("get_weather", move || {
        let name = Rc::clone(&name);
        async move { name.to_string() }
    });
}
