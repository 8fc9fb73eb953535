//! A server and its client that share definitions: names, arguments and results come from one
//! place, and a mistake does not compile.
//!
//! ```sh
//! cargo run --example typed_client             # calls, reads and a prompt, printed
//! cargo run --example typed_client -- --serve  # until ctrl-c
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

#[path = "shared/host.rs"]
mod host;

use std::error::Error;

use roscius::prelude::*;

use self::{
    contract::{ABOUT, City, GET_WEATHER, LOG, LogId, REPORT, Report, Weather},
    host::Host,
};

/// What both sides know. It would be a crate of its own, without any code of the server.
mod contract {
    use roscius::prelude::{PromptDef, ResourceDef, ToolDef};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// Current weather for a city
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(crate) struct City {
        /// City name
        pub(crate) city: String,
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    pub(crate) struct Weather {
        pub(crate) celsius: f32,
        pub(crate) conditions: String,
    }

    /// Writes a report
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(crate) struct Report {
        pub(crate) city: String,
        /// How many sentences it may have
        pub(crate) sentences: Option<u8>,
    }

    #[derive(Serialize, Deserialize)]
    pub(crate) struct LogId {
        pub(crate) city: String,
        pub(crate) year: u16,
    }

    pub(crate) const GET_WEATHER: ToolDef<City, Weather> = ToolDef::new("get_weather").read_only();
    pub(crate) const REPORT: PromptDef<Report> = PromptDef::new("report");
    pub(crate) const ABOUT: ResourceDef = ResourceDef::fixed("about", "weather://about");
    pub(crate) const LOG: ResourceDef<LogId> =
        ResourceDef::template("weather://logs/{city}/{year}").name("log");
}

async fn get_weather(Args(asked): Args<City>) -> Result<Json<Weather>, ToolError> {
    match asked.city.as_str() {
        "Oslo" => Ok(Json(Weather {
            celsius: 7.0,
            conditions: "cloudy".to_owned(),
        })),
        city => Err(ToolError::new(format!("no weather is known for {city}"))),
    }
}

async fn report(Args(report): Args<Report>) -> String {
    let sentences = report.sentences.unwrap_or(2);
    format!("Report on {} in {sentences} sentences.", report.city)
}

async fn log(Vars(log): Vars<LogId>) -> Option<String> {
    (log.year > 1900).then(|| format!("{}, {}: rain", log.city, log.year))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = McpServer::new("weather", "1.0.0")
        .tool(GET_WEATHER.implement(get_weather))
        .prompt(REPORT.implement(report))
        .resource(ABOUT.implement(|| async { "Weather of a few cities." }))
        .resource(LOG.implement(log))
        .build()?;
    let Some(host) = Host::start(&server).await? else {
        return Ok(());
    };

    let client = McpClient::connect(Http::new(&host.url)).await?;
    for city in ["Oslo", "Atlantis"] {
        let city = city.to_owned();
        let called = client.call(&GET_WEATHER, City { city });
        // The same call gives the whole result, too, as the server sent it.
        let raw = called.clone().raw().await?;
        println!("raw: {}", serde_json::to_string(&raw)?);
        match called.await {
            Ok(weather) => println!("{} degrees, {}", weather.celsius, weather.conditions),
            Err(error) => println!("error: {error}"),
        }
    }
    let about = client.read(&ABOUT, ()).await?;
    println!("about: {}", about.text().unwrap_or_default());
    for year in [1984, 1815] {
        let city = "Oslo".to_owned();
        match client.read(&LOG, LogId { city, year }).await {
            Ok(log) => println!("log: {}", log.text().unwrap_or_default()),
            Err(error) => println!("error: {error}"),
        }
    }
    let report = Report {
        city: "Oslo".to_owned(),
        sentences: Some(1),
    };
    let prompt = client.prompt(&REPORT, report).await?;
    println!("prompt: {}", serde_json::to_string(&prompt.messages)?);
    client.close().await;
    host.stop().await;
    Ok(())
}
