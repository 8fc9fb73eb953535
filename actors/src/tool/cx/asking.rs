//! How a tool asks, and what it gets.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{InputMode, Sampling, ToolCx, Unkeyed};
use crate::{
    machine::form,
    tool::{
        ToolError,
        answer::{Wrong, accept, from_response, is_refusal, sampled_text},
        ask::{InputError, MAX_TRIES, Question, QuestionKind, SampleRequest},
        extract::from_value,
    },
};

impl ToolCx {
    /// Asks a person for one text.
    ///
    /// Where a call can only pause, the tool runs from its top when the answer has come: what must
    /// run once belongs after this line. A second question needs a key: [`ToolCx::request_form`].
    /// An answer that does not fit is asked for again, at most [`MAX_TRIES`] times.
    ///
    /// # Errors
    /// [`InputError`]; return it (with `?`) and the call pauses, or fails if nobody can answer.
    pub async fn request_input(&self, message: impl Into<String>) -> Result<String, InputError> {
        let read = |answer| match content_of(answer).get_mut("value").map(Value::take) {
            Some(Value::String(text)) => Ok(text),
            _ => Err("/value: a text is expected".to_owned()),
        };
        self.ask_for(Question::text(message), None, read).await
    }

    /// Asks a person for a value of this type, by a form that its fields describe.
    ///
    /// Fields are strings, numbers, booleans, enums without data, lists of such enums, and
    /// `Option`s of them; doc comments, bounds, formats and defaults stand in the form. What a
    /// client cannot be told (a pattern, say) is checked here. Declare the type with
    /// [`Tool::asks`](crate::tool::Tool::asks) and one that cannot be a form is found when the
    /// server is built.
    ///
    /// Clients of 2025-06-18 get titled choices in the words of that version; a list of choices
    /// cannot be asked of them.
    ///
    /// ```
    /// use roscius_actors::tool::{Tool, ToolCx, ToolError};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Stay {
    ///     /// Three capital letters
    ///     #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    ///     airport: String,
    ///     #[schemars(range(min = 1, max = 14))]
    ///     nights: u8,
    /// }
    ///
    /// async fn book(cx: ToolCx) -> Result<String, ToolError> {
    ///     let stay: Stay = cx.request_input_as("Where, and how long?").await?;
    ///     Ok(format!("{} nights near {}", stay.nights, stay.airport))
    /// }
    ///
    /// let tool = Tool::new("book", book).asks::<Stay>();
    /// ```
    ///
    /// # Errors
    /// As [`ToolCx::request_input`]; [`InputError::Form`] names a field that no form can have.
    pub async fn request_input_as<T>(&self, message: impl Into<String>) -> Result<T, InputError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        self.typed(None, message.into()).await
    }

    /// Asks a person for a value of this type, as [`ToolCx::request_input_as`] does. The key tells
    /// the questions of one call apart.
    ///
    /// # Errors
    /// As [`ToolCx::request_input_as`].
    pub async fn request_form_as<T>(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> Result<T, InputError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        self.typed(Some(key.into()), message.into()).await
    }

    async fn typed<T>(&self, key: Option<String>, message: String) -> Result<T, InputError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let form = form::of::<T>()?;
        let mut question = Question::form(message, form.requested);
        question.key = key;
        let read = |answer| {
            from_value(content_of(answer)).map_err(|error: serde_json::Error| error.to_string())
        };
        self.ask_for(question, Some(&form.checked), read).await
    }

    /// Asks a person to fill in a form and gives its fields. The key tells the questions of one
    /// call apart.
    ///
    /// # Errors
    /// As [`ToolCx::request_input`].
    pub async fn request_form(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
        schema: Value,
    ) -> Result<Value, InputError> {
        let question = Question::form(message, schema).key(key);
        self.ask_for(question, None, |answer| Ok(content_of(answer)))
            .await
    }

    /// Asks a model: the server's own sampler if it has one, else the client's model.
    ///
    /// # Errors
    /// As [`ToolCx::request_input`].
    pub async fn sample(&self, request: impl Into<SampleRequest>) -> Result<String, InputError> {
        let request = request.into();
        match &self.0.sampling {
            Sampling::Local(sampler) => {
                let answer = sampler.sample(request, self.0.cancel.clone());
                return answer
                    .await
                    .map_err(|error| InputError::Unavailable(error.to_string().into()));
            }
            Sampling::Refuse(why) => return Err(InputError::Unavailable(why.clone())),
            Sampling::AsQuestion => {}
        }
        let answer = self.ask(Question::sampling(request)).await?;
        sampled_text(&answer).ok_or(InputError::Unavailable(Cow::Borrowed(
            "the model's answer has no text",
        )))
    }

    /// Asks a question and gives the raw answer, as MCP defines it for the kind. One that does not
    /// fit the schema of a form is asked for again.
    ///
    /// # Errors
    /// As [`ToolCx::request_input`].
    pub async fn ask(&self, question: Question) -> Result<Value, InputError> {
        self.ask_for(question, None, Ok).await
    }

    /// Asks until an answer fits: the form it is held against, and what reads it.
    async fn ask_for<T>(
        &self,
        question: Question,
        form: Option<&Value>,
        read: impl Fn(Value) -> Result<T, String>,
    ) -> Result<T, InputError> {
        let (question, key) = self.keyed(question)?;
        let take = |answer| read(accept(&question, form, answer)?).map_err(Wrong::Unfit);
        let mut unfit = None;
        if let Some(answer) = self.answer_to(&question, &key) {
            match take(answer?) {
                Ok(value) => return Ok(value),
                Err(Wrong::Unfit(reason)) => unfit = Some(reason),
                Err(wrong) => return self.note(Err(wrong.into_error(&key))),
            }
        }
        let asker = match &self.0.input {
            InputMode::Refuse(why) => return Err(InputError::Unavailable(why.clone())),
            InputMode::Pause => return Err(self.pause(question.again(unfit.as_deref()))),
            InputMode::Ask(asker) => asker,
        };
        self.note(asker.admit(&question))?;
        for _ in 0..MAX_TRIES {
            let asked = question.again(unfit.as_deref());
            let Some(waiting) = asker.ask(&asked) else {
                return Err(self.pause(asked));
            };
            let answer = tokio::select! {
                answer = waiting => answer?,
                () = self.0.cancel.cancelled() => return Err(InputError::Cancelled),
            };
            match take(answer) {
                Ok(value) => return Ok(value),
                Err(Wrong::Unfit(reason)) => unfit = Some(reason),
                Err(wrong) => return Err(wrong.into_error(&key)),
            }
        }
        Err(Wrong::Unfit(unfit.unwrap_or_default()).into_error(&key))
    }

    /// Tells whether a question of this kind could be answered now.
    #[must_use]
    pub fn can_ask(&self, kind: QuestionKind) -> bool {
        match (&self.0.sampling, kind) {
            (Sampling::Local(_), QuestionKind::Sampling) => return true,
            (Sampling::Refuse(_), QuestionKind::Sampling) => return false,
            _ => {}
        }
        match &self.0.input {
            InputMode::Pause => true,
            InputMode::Refuse(_) => false,
            InputMode::Ask(asker) => asker.admit(&Question::of_kind(kind)).is_ok(),
        }
    }

    /// Gives the questions that are open now. Each has a key.
    #[must_use]
    pub fn open_questions(&self) -> Vec<Question> {
        self.asked().open.clone()
    }

    /// Gives the first question that the host has to refuse: the client cannot answer it, or what
    /// it sent is no answer to such a question.
    #[must_use]
    pub fn refused(&self) -> Option<InputError> {
        self.asked().refused.clone()
    }

    /// Tells what the error of a function means: the questions that its call waits for, or that it
    /// has failed.
    pub(crate) fn end_with(&self, error: ToolError) -> Result<Vec<Question>, ToolError> {
        if let Some(question) = error.question().cloned() {
            self.add_last(question)?;
        }
        if self.refused().is_some() {
            return Err(error);
        }
        let open = std::mem::take(&mut self.asked().open);
        if open.is_empty() {
            return Err(error);
        }
        Ok(open)
    }

    /// Adds the question that an error carries, if it may be asked and was not refused before.
    fn add_last(&self, mut question: Question) -> Result<(), InputError> {
        let key = question
            .key
            .get_or_insert_with(|| question.kind.default_key().to_owned());
        let answer = self.0.answers.get(key.as_str());
        if answer.is_some_and(is_refusal) {
            return Err(InputError::NotAccepted);
        }
        match &self.0.input {
            InputMode::Refuse(why) => return Err(InputError::Unavailable(why.clone())),
            InputMode::Ask(asker) => self.note(asker.admit(&question))?,
            InputMode::Pause => {}
        }
        self.pause(question);
        Ok(())
    }

    fn keyed(&self, question: Question) -> Result<(Question, String), InputError> {
        if let Some(key) = question.key.clone() {
            return Ok((question, key));
        }
        if self.0.unkeyed == Unkeyed::None {
            return Err(InputError::Unavailable(Cow::Borrowed(
                "a tool that runs as a task asks with a key: use request_form or request_form_as, or give the question a key",
            )));
        }
        let default = question.kind.default_key();
        let mut asked = self.asked();
        let nth = match asked.unkeyed.iter_mut().find(|(key, _)| *key == default) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                asked.unkeyed.push((default, 1));
                1
            }
        };
        drop(asked);
        if nth > 1 && self.0.unkeyed == Unkeyed::OneForm && question.kind == QuestionKind::Form {
            return Err(InputError::Unavailable(Cow::Borrowed(
                "a call can ask one question without a key: give each a key with request_form",
            )));
        }
        let key = if nth == 1 {
            default.to_owned()
        } else {
            format!("{default}:{nth}")
        };
        Ok((question.key(key.clone()), key))
    }

    fn answer_to(&self, question: &Question, key: &str) -> Option<Result<Value, InputError>> {
        if let Some(answer) = self.0.answers.get(key) {
            return Some(Ok(answer.clone()));
        }
        let response = self.0.input_response.as_ref()?;
        if !self.0.answers.is_empty() || std::mem::replace(&mut self.asked().response_used, true) {
            return None;
        }
        Some(from_response(question, response).ok_or(InputError::NotAccepted))
    }

    fn pause(&self, question: Question) -> InputError {
        let mut asked = self.asked();
        if asked.open.iter().all(|open| open.key != question.key) {
            asked.open.push(question);
        }
        InputError::Paused
    }

    fn note<T>(&self, answer: Result<T, InputError>) -> Result<T, InputError> {
        if let Err(error @ (InputError::MissingCapability { .. } | InputError::Invalid { .. })) =
            &answer
        {
            self.asked().refused.get_or_insert_with(|| error.clone());
        }
        answer
    }
}

/// Gives the fields of an accepted form; a form without fields may come without any.
fn content_of(mut answer: Value) -> Value {
    let content = answer.get_mut("content").map(Value::take);
    content
        .filter(|content| !content.is_null())
        .unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}
