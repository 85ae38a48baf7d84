//! Asking for text where the protocol has no way to: a document is opened in which the text is written, and the code
//! action *Send* runs the command with it.

use serde_json::Value;
use tower_lsp::ls_types::{
    CodeAction, CodeActionOrCommand, CodeActionParams, CodeActionResponse, Command as LspCommand,
};

use super::Backend;
use crate::failure::Failure;

/// The document's name in our folder.
const FILE: &str = "compose.md";
/// How its first line begins; the command and its arguments follow.
const MARK: &str = "<!-- adjutant: ";

impl Backend {
    /// Opens the document for a command that lacks `field`. What is needed to go on is kept in its first line, so that it
    /// works after a restart too.
    pub(super) fn compose(&self, command: &str, mut arguments: Value, field: &str) -> Result<Value, Failure> {
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.retain(|_, value| !value.is_null());
        }
        let header = serde_json::json!({ "command": command, "field": field, "arguments": arguments });
        let text = format!(
            "{MARK}{header} -->\n<!-- Write below this line, then run the code action \"Adjutant: Send\" here. -->\n\n"
        );
        let file = self.write_file(FILE, &text)?;
        let uri = self.show_file(&file)?;
        Ok(serde_json::json!({ "composeUri": uri }))
    }

    /// Code actions: *Send* in our document, and delegating a selection anywhere else.
    pub(super) async fn code_actions(&self, params: CodeActionParams) -> Result<CodeActionResponse, Failure> {
        let uri = params.text_document.uri.to_string();
        let range = params.range;
        let asked = uri.clone();
        let text =
            self.manager.call(move |manager| manager.documents.text(&asked).map(str::to_owned)).await?;
        if let Some(send) = text.as_deref().and_then(send_action) {
            return Ok(vec![send]);
        }
        if range.start == range.end {
            return Ok(Vec::new());
        }
        let range = serde_json::to_value(range).unwrap_or_default();
        let arguments = serde_json::json!({ "uri": uri, "range": range });
        Ok(vec![action(
            "Adjutant: Delegate selection to an agent",
            "adjutant.server.delegateSelection",
            arguments,
        )])
    }
}

/// *Send*, where the text is a document of ours with something written in it.
fn send_action(text: &str) -> Option<CodeActionOrCommand> {
    let header = text.strip_prefix(MARK)?.lines().next()?.strip_suffix("-->")?;
    let header: Value = serde_json::from_str(header.trim()).ok()?;
    let command = header["command"].as_str().filter(|command| command.starts_with("adjutant.server."))?;
    let field = header["field"].as_str()?;
    let body: Vec<&str> = text.lines().skip(1).skip_while(|line| line.starts_with("<!--")).collect();
    let body = body.join("\n").trim().to_owned();
    if body.is_empty() {
        return None;
    }
    let mut arguments = header["arguments"].clone();
    arguments.as_object_mut()?.insert(field.to_owned(), body.into());
    Some(action("Adjutant: Send", command, arguments))
}

fn action(title: &str, command: &str, arguments: Value) -> CodeActionOrCommand {
    let command =
        LspCommand { title: title.to_owned(), command: command.to_owned(), arguments: Some(vec![arguments]) };
    CodeActionOrCommand::CodeAction(CodeAction {
        title: title.to_owned(),
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
        let Some(CodeActionOrCommand::CodeAction(send)) = send_action(&text) else { panic!("no action") };
        let command = send.command.unwrap();
        assert_eq!(command.command, "adjutant.server.delegate");
        assert_eq!(
            command.arguments.unwrap()[0],
            serde_json::json!({ "type": "Plan", "prompt": "Do this\nand that" })
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
            "<!-- adjutant: {\"command\":\"adjutant.server.prompt\",\"field\":\"text\",\"arguments\":{}} -->\n<!-- hint -->\n\n",
        ] {
            assert!(send_action(text).is_none(), "{text}");
        }
    }
}
