//! `adjutant schema`: the JSON schemas of the contract, of the tools and of the files that people write.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use project::agent_types::AgentFile;
use project::settings::Settings;

/// Every schema document, by its path below `schemas/`.
pub fn schema_documents() -> Vec<protocol::Document> {
    let mut documents = protocol::documents();
    documents.push(protocol::schema_document::<Settings>("settings.schema.json"));
    documents.push(protocol::schema_document::<AgentFile>("agent-file.schema.json"));
    for (name, schema) in crate::tool_schemas() {
        documents.push(protocol::Document { file: format!("tools/{name}.json"), content: schema });
    }
    documents
}

/// Prints all documents as one JSON object, or writes them to a folder.
pub(super) fn schema(out: Option<&Path>) -> anyhow::Result<ExitCode> {
    let documents = schema_documents();
    let Some(folder) = out else {
        let all: serde_json::Map<_, _> =
            documents.into_iter().map(|document| (document.file.clone(), document.content)).collect();
        let mut stdout = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut stdout, &all)?;
        writeln!(stdout)?;
        return Ok(ExitCode::SUCCESS);
    };
    for document in documents {
        let file = folder.join(&document.file);
        let parent = file.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
        std::fs::write(&file, document.text())
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
