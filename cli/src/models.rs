//! The model that the command line names.

use std::sync::Arc;

use roscius::{
    model::{DemoModel, OpenAi, ScriptError, ScriptedModel},
    ports::model::Model,
};

use crate::args::{ModelChoice, ServeArgs};

const KEY: &str = "OPENAI_API_KEY";

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelChoiceError {
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("{KEY} is not set; give the key there, or a gateway that needs none with --base-url")]
    NoKey,
    #[error("--base-url says where an OpenAI model is: it needs --model openai:<model>")]
    BaseUrl,
}

/// Makes the model. The key comes from the environment only: a command line can be read by others.
pub(crate) fn make(args: &ServeArgs) -> Result<Arc<dyn Model>, ModelChoiceError> {
    let openai = matches!(args.model, ModelChoice::OpenAi(_));
    if args.base_url.is_some() && !openai {
        return Err(ModelChoiceError::BaseUrl);
    }
    match &args.model {
        ModelChoice::Demo => Ok(Arc::new(DemoModel::new())),
        ModelChoice::Scripted(file) => Ok(Arc::new(ScriptedModel::from_file(file)?)),
        ModelChoice::OpenAi(name) => {
            let key = std::env::var(KEY).ok().filter(|key| !key.trim().is_empty());
            let mut model = OpenAi::responses(name.as_str());
            match (&key, &args.base_url) {
                (None, None) => return Err(ModelChoiceError::NoKey),
                (Some(key), _) => model = model.api_key(key.trim()),
                (None, Some(_)) => {}
            }
            if let Some(url) = &args.base_url {
                model = model.base_url(url.as_str());
            }
            Ok(Arc::new(model))
        }
    }
}
