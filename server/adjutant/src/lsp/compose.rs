//! Asking for text where the protocol has no way to: a document is opened in which the text is written, and the code
//! action *Send* runs the command with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{Command, ErrorCode, command};
use serde_json::Value;
use tower_lsp::ls_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse,
    Command as LspCommand, Position, Range, TextEdit, Uri, WorkspaceEdit,
};

use super::Backend;
use crate::failure::Failure;

/// How the documents' names in our folder begin.
const NAME: &str = "compose";
/// Texts that can be written at one time.
const DOCUMENTS: usize = 9;
/// How a document's first line begins; the command and its arguments follow.
const MARK: &str = "<!-- adjutant: ";
/// Where a command is told from which document it was sent.
const SENT_FROM: &str = "composeUri";
/// How long the editor may take to empty a document.
const EDIT_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of a document that are read.
const DOCUMENT_BYTES: u64 = 1 << 20;

/// The commands that texts are written for, and the field that the text goes to.
const COMPOSED: &[(&str, &str)] = &[
    (command::Prompt::NAME, "text"),
    (command::Delegate::NAME, "prompt"),
    (command::Steer::NAME, "message"),
    (command::Resume::NAME, "prompt"),
];

impl Backend {
    /// Opens a document for a command that lacks `field`. What is needed to go on is kept in its first line, so that it
    /// works after a restart too. A document in which something is written already stays as it is.
    pub(super) async fn compose(
        &self,
        command: &str,
        mut arguments: Value,
        field: &str,
    ) -> Result<Value, Failure> {
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.retain(|_, value| !value.is_null());
        }
        let header = serde_json::json!({ "command": command, "field": field, "arguments": arguments });
        let text = format!(
            "{MARK}{header} -->\n<!-- Write below this line, then run the code action \"Adjutant: Send\" here. -->\n\n"
        );
        let name = self.free_document().await?;
        let file = self.write_file(&name, &text)?;
        let uri = self.show_file(&file)?;
        Ok(serde_json::json!({ "composeUri": uri }))
    }

    /// The first document in which nothing is written.
    async fn free_document(&self) -> Result<String, Failure> {
        for name in (1..=DOCUMENTS).map(document_name) {
            let file = self.file_of(&name);
            let open = match Uri::from_file_path(&file) {
                Some(uri) => self.open_text(uri.to_string()).await?,
                None => None,
            };
            if open.or_else(|| read(&file)).is_none_or(|text| body(&text).is_empty()) {
                return Ok(name);
            }
        }
        Err(Failure::new(ErrorCode::Conflict, format!("{DOCUMENTS} texts are being written already"))
            .hint("send one of them, or empty its document"))
    }

    async fn open_text(&self, uri: String) -> Result<Option<String>, Failure> {
        self.manager.call(move |manager| manager.documents.text(&uri).map(str::to_owned)).await
    }

    /// Our document that a URI names, however the client spells it.
    fn own_document(&self, uri: &Uri) -> Option<PathBuf> {
        let path = uri.as_str().starts_with("file:").then(|| uri.to_file_path()).flatten()?;
        (1..=DOCUMENTS).map(|number| self.file_of(&document_name(number))).find(|own| {
            **own == *path
                || own.canonicalize().is_ok_and(|own| path.canonicalize().is_ok_and(|path| own == path))
        })
    }

    /// The document that a command was sent from.
    pub(super) fn composed(&self, arguments: &Value) -> Option<Uri> {
        let uri: Uri = arguments.get(SENT_FROM)?.as_str()?.parse().ok()?;
        self.own_document(&uri).map(|_| uri)
    }

    /// Empties a document whose text was sent, so that it is not sent twice.
    pub(super) fn clear_composed(&self, uri: Uri) {
        let backend = self.clone();
        let cleared = async move {
            let Ok(open) = backend.open_text(uri.to_string()).await else { return };
            let Some(text) = open else {
                let Some(file) = backend.own_document(&uri) else { return };
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if let Some(text) = read(&file)
                    && let Err(failure) = backend.write_file(&name, &header(&text))
                {
                    tracing::warn!(%failure, "a text that was sent stays in its document");
                }
                return;
            };
            let (first, after) = (header(&text).lines().count() as u32, text.split('\n').count() as u32);
            let range = Range { start: Position::new(first, 0), end: Position::new(after, 0) };
            let edit = TextEdit { range, new_text: "\n".to_owned() };
            let edit =
                WorkspaceEdit { changes: Some([(uri, vec![edit])].into()), ..WorkspaceEdit::default() };
            match tokio::time::timeout(EDIT_LIMIT, backend.client.apply_edit(edit)).await {
                Ok(Ok(answer)) if answer.applied => {}
                answer => tracing::info!(?answer, "the editor did not empty a document whose text was sent"),
            }
        };
        self.manager.post(move |manager| manager.errand(cleared));
    }

    /// Code actions: *Send* in our documents, and delegating a selection anywhere else.
    pub(super) async fn code_actions(&self, params: CodeActionParams) -> Result<CodeActionResponse, Failure> {
        if !wants(&params.context, &KIND) {
            return Ok(Vec::new());
        }
        let uri = params.text_document.uri.to_string();
        // Only there: anybody can write our mark into a file of a repository.
        if self.own_document(&params.text_document.uri).is_some() {
            let text = self.open_text(uri.clone()).await?;
            return Ok(text.and_then(|text| send_action(&text, &uri)).into_iter().collect());
        }
        let range = params.range;
        if range.start == range.end {
            return Ok(Vec::new());
        }
        let range = serde_json::to_value(range).unwrap_or_default();
        let arguments = serde_json::json!({ "uri": uri, "range": range });
        Ok(vec![action(
            "Adjutant: Delegate selection to an agent",
            command::DelegateSelection::NAME,
            arguments,
        )])
    }
}

/// The kind of our actions.
const KIND: CodeActionKind = CodeActionKind::REFACTOR;

/// Whether the client asks for actions of this kind: it names kinds by their beginnings.
fn wants(context: &CodeActionContext, kind: &CodeActionKind) -> bool {
    let fits = |asked: &CodeActionKind| {
        let rest = kind.as_str().strip_prefix(asked.as_str());
        asked.as_str().is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    context.only.as_ref().is_none_or(|only| only.iter().any(fits))
}

fn document_name(number: usize) -> String {
    if number == 1 { format!("{NAME}.md") } else { format!("{NAME}-{number}.md") }
}

fn read(file: &Path) -> Option<String> {
    let is_small =
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= DOCUMENT_BYTES);
    if is_small { std::fs::read_to_string(file).ok() } else { None }
}

/// The lines of ours at a document's top.
fn header(text: &str) -> String {
    text.lines()
        .take_while(|line| line.starts_with("<!--"))
        .fold(String::new(), |text, line| text + line + "\n")
}

/// What a person has written in a document.
fn body(text: &str) -> String {
    let lines: Vec<&str> = text.lines().skip_while(|line| line.starts_with("<!--")).collect();
    lines.join("\n").trim().to_owned()
}

/// *Send*, where something is written in a document of ours.
fn send_action(text: &str, uri: &str) -> Option<CodeActionOrCommand> {
    let header = text.strip_prefix(MARK)?.lines().next()?.strip_suffix("-->")?;
    let header: Value = serde_json::from_str(header.trim()).ok()?;
    let (command, field) = COMPOSED
        .iter()
        .find(|(command, field)| header["command"] == *command && header["field"] == *field)?;
    let body = body(text);
    if body.is_empty() {
        return None;
    }
    let mut arguments = header["arguments"].clone();
    let fields = arguments.as_object_mut()?;
    fields.insert((*field).to_owned(), body.into());
    fields.insert(SENT_FROM.to_owned(), uri.into());
    Some(action("Adjutant: Send", command, arguments))
}

fn action(title: &str, command: &str, arguments: Value) -> CodeActionOrCommand {
    let command =
        LspCommand { title: title.to_owned(), command: command.to_owned(), arguments: Some(vec![arguments]) };
    CodeActionOrCommand::CodeAction(CodeAction {
        title: title.to_owned(),
        kind: Some(KIND),
        command: Some(command),
        ..CodeAction::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn send_runs_the_command_with_what_was_written() {
        let text = format!(
            "{MARK}{{\"command\":\"adjutant.server.delegate\",\"field\":\"prompt\",\"arguments\":{{\"type\":\"Plan\"}}}} -->\n\
             <!-- Write below -->\n\nDo this\nand that\n"
        );
        let Some(CodeActionOrCommand::CodeAction(send)) = send_action(&text, "file:///c") else {
            panic!("no action")
        };
        let command = send.command.unwrap();
        assert_eq!(command.command, "adjutant.server.delegate");
        assert_eq!(
            command.arguments.unwrap()[0],
            serde_json::json!({ "type": "Plan", "prompt": "Do this\nand that", "composeUri": "file:///c" })
        );
    }

    #[test]
    fn an_empty_or_foreign_document_offers_nothing() {
        for text in [
            "",
            "plain",
            "<!-- adjutant: {} -->\nx",
            "<!-- adjutant: not json -->\nx",
            "<!-- adjutant: {\"command\":\"rm\",\"field\":\"x\",\"arguments\":{}} -->\nx",
            "<!-- adjutant: {\"command\":\"adjutant.server.stopAll\",\"field\":\"x\",\"arguments\":{}} -->\nx",
            "<!-- adjutant: {\"command\":\"adjutant.server.steer\",\"field\":\"agentId\",\"arguments\":{}} -->\nx",
            "<!-- adjutant: {\"command\":\"adjutant.server.prompt\",\"field\":\"text\",\"arguments\":{}} -->\n<!-- hint -->\n\n",
        ] {
            assert!(send_action(text, "file:///c").is_none(), "{text}");
        }
    }

    #[test]
    fn a_document_is_its_header_and_what_is_written() {
        let text = "<!-- adjutant: {} -->\n<!-- hint -->\n\n one\n<!-- two\n\n";
        assert_eq!(header(text), "<!-- adjutant: {} -->\n<!-- hint -->\n");
        assert_eq!(body(text), "one\n<!-- two");
        assert_eq!(body(&header(text)), "");
    }

    #[test]
    fn actions_come_only_where_their_kind_is_asked_for() {
        let wanted = |only: Option<&[&'static str]>| {
            let only = only.map(|kinds| kinds.iter().map(|kind| CodeActionKind::new(kind)).collect());
            wants(&CodeActionContext { only, ..CodeActionContext::default() }, &KIND)
        };
        assert!(wanted(None) && wanted(Some(&[""])) && wanted(Some(&["quickfix", "refactor"])));
        assert!(!wanted(Some(&[])) && !wanted(Some(&["quickfix"])) && !wanted(Some(&["refactor.inline"])));
    }
}
