//! Checks a tool before it is offered, and calls it.

use futures_util::future::LocalBoxFuture;
use serde_json::Value;

use super::{
    Context, Tool, ToolCx, ToolDefError, ToolError, ToolOutcome, ToolOutput, run::StartError,
};
use crate::machine::schema::{self, LazyChecker};

impl Tool {
    /// Makes sure that the schemas compile and looks for the values that the parameters need.
    ///
    /// # Errors
    /// [`ToolDefError`] when the tool could never be called.
    pub fn check(&self, context: &Context) -> Result<(), ToolDefError> {
        let tool = || self.name().to_owned();
        if !schema::is_object(self.input_schema()) {
            return Err(ToolDefError::NotAnObject { tool: tool() });
        }
        for schema in [Some(&self.0.input), self.0.output.as_ref()]
            .into_iter()
            .flatten()
        {
            schema.verify().map_err(|source| ToolDefError::Schema {
                tool: tool(),
                source,
            })?;
        }
        if let Some(source) = self.0.not_a_form.clone() {
            let tool = tool();
            return Err(ToolDefError::Form { tool, source });
        }
        let missing = self.0.execute.as_ref().and_then(|run| run.missing(context));
        match missing {
            Some(ty) => Err(ToolDefError::MissingContext { tool: tool(), ty }),
            None => Ok(()),
        }
    }

    /// Checks arguments against the input schema, for example after a person has edited them.
    ///
    /// # Errors
    /// The place and the reason.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        let checker = self.0.input.get().map_err(ToString::to_string)?;
        checker.check(arguments).map_err(|wrong| wrong.to_string())
    }

    /// Calls the tool.
    ///
    /// `arguments` is JSON text and is read before this returns, so the future borrows nothing. A
    /// panic of the tool is a failure with the text `tool failed`.
    #[must_use]
    pub fn call(&self, arguments: &str, cx: ToolCx) -> LocalBoxFuture<'static, ToolOutcome> {
        let Some(execute) = &self.0.execute else {
            return failed(ToolError::new(format!(
                "tool `{}` has no executor",
                self.name()
            )));
        };
        // serde would read a positional array into a struct.
        if !arguments.trim_ascii_start().starts_with('{') {
            return failed(self.invalid("an object is expected"));
        }
        let checker = if self.0.check_input {
            match self.0.input.get() {
                Ok(checker) => Some(checker),
                Err(error) => return failed(ToolError::new(error.to_string())),
            }
        } else {
            None
        };
        let running = match execute.start(arguments, checker, cx) {
            Ok(running) => running,
            Err(error) => return failed(self.word(error, arguments)),
        };
        if !self.0.check_output {
            return running;
        }
        let tool = self.clone();
        Box::pin(async move { tool.checked(running.await) })
    }

    fn word(&self, error: StartError, arguments: &str) -> ToolError {
        match error {
            StartError::Violation(reason) => self.invalid(&reason),
            StartError::Missing(ty) => {
                tracing::error!(
                    tool = self.name(),
                    ty,
                    "a value of the application is missing"
                );
                ToolError::missing(ty)
            }
            StartError::Arguments(error) => {
                // serde knows line and column; the schema knows the place.
                let value = serde_json::from_str::<Value>(arguments);
                match value.map(|value| self.check_arguments(&value)) {
                    Ok(Err(reason)) => self.invalid(&reason),
                    _ => self.invalid(&error.to_string()),
                }
            }
        }
    }

    fn invalid(&self, reason: &str) -> ToolError {
        let name = self.name();
        ToolError::arguments(format!("invalid arguments for tool `{name}`: {reason}"))
    }

    fn checked(&self, outcome: ToolOutcome) -> ToolOutcome {
        let ToolOutcome::Done(output) = &outcome else {
            return outcome;
        };
        if let ToolOutput::Result(result) = output {
            if result.is_error == Some(true) {
                return outcome;
            }
            if result.structured_content.is_none() {
                return ToolOutcome::Failed(ToolError::output(format!(
                    "tool `{}` returned no structured content, which its output schema promises",
                    self.name()
                )));
            }
        }
        let wrong = match self.0.output.as_ref().map(LazyChecker::get) {
            Some(Ok(checker)) => checker.check(&output.to_value()),
            _ => Ok(()),
        };
        match wrong {
            Ok(()) => outcome,
            Err(wrong) => ToolOutcome::Failed(ToolError::output(format!(
                "tool `{}` returned what does not fit its output schema: {wrong}",
                self.name()
            ))),
        }
    }
}

fn failed(error: ToolError) -> LocalBoxFuture<'static, ToolOutcome> {
    Box::pin(std::future::ready(ToolOutcome::Failed(error)))
}
