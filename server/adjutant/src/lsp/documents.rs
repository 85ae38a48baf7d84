//! Serving our documents: by request, and as plain files that any editor can open.

use std::path::PathBuf;

use protocol::{DocumentResult, ErrorCode};
use session::PageRequest;
use tower_lsp::ls_types::Uri;
use vocab::{AgentId, SessionId};

use super::Backend;
use crate::failure::Failure;
use crate::outbox::Outgoing;
use crate::projection::documents::{self, Document};
use crate::projection::transcript;

/// Entries that a document shows: the newest.
const ENTRIES: usize = 1_000;

impl Backend {
    /// The text of a document as it is now.
    pub(super) async fn read_document(&self, document: Document) -> Result<DocumentResult, Failure> {
        let (text, revision) = match document {
            Document::Fleet => self.fleet_document().await?,
            Document::Agent(id) => self.agent_document(id.into()).await?,
            Document::Session(id) => self.session_document(id.into()).await?,
            Document::Entry { of_agent, owner, entry } => {
                self.entry_document(of_agent, owner, &entry).await?
            }
        };
        Ok(DocumentResult { text, language_id: "markdown".to_owned(), revision })
    }

    async fn fleet_document(&self) -> Result<(String, u64), Failure> {
        let now = self.clock.now();
        self.manager
            .call(move |manager| (documents::fleet(&manager.summaries(), now), manager.revision()))
            .await
    }

    async fn agent_document(&self, id: AgentId) -> Result<(String, u64), Failure> {
        let request = PageRequest { limit: ENTRIES, ..PageRequest::default() };
        let owner = format!("adjutant://agent/{id}");
        let asked = self.manager.call(move |manager| {
            let page = manager.agent_page(&id, request, false)?;
            let summary = manager.summary(&id).ok_or_else(|| Failure::unknown_agent(id.as_str()))?;
            Ok::<_, Failure>((summary, page))
        });
        let (summary, page) = asked.await??;
        let page = transcript::page(&page.page().await?, &owner);
        Ok((documents::agent(&summary, &page.entries, self.clock.now()), page.as_of_seq))
    }

    async fn session_document(&self, id: SessionId) -> Result<(String, u64), Failure> {
        let request = PageRequest { limit: ENTRIES, ..PageRequest::default() };
        let owner = format!("adjutant://session/{id}");
        let asked = self.manager.call(move |manager| {
            Ok::<_, Failure>((manager.session_info(&id)?, manager.session_page(&id, request, false)?))
        });
        let (info, page) = asked.await??;
        let page = transcript::page(&page.page().await?, &owner);
        Ok((documents::session(&info.await?, &page.entries), page.as_of_seq))
    }

    async fn entry_document(
        &self,
        of_agent: bool,
        owner: String,
        entry: &str,
    ) -> Result<(String, u64), Failure> {
        let request = PageRequest { limit: usize::MAX, ..PageRequest::default() };
        let page = self
            .manager
            .call(move |manager| {
                if of_agent {
                    manager.agent_page(&owner.into(), request, false)
                } else {
                    manager.session_page(&owner.into(), request, false)
                }
            })
            .await??
            .page()
            .await?;
        let found = page.entries.iter().find(|stored| stored.id.as_str() == entry);
        let stored =
            found.ok_or_else(|| Failure::new(ErrorCode::Failed, format!("there is no entry \"{entry}\"")))?;
        Ok((transcript::entry_text(stored), stored.seq))
    }

    /// Writes a document as a file and shows it. Answers its URI.
    pub(super) async fn show(&self, document: Document) -> Result<String, Failure> {
        let file = self.write_document(document).await?;
        self.show_file(&file)
    }

    /// Writes a document as a file.
    pub(super) async fn write_document(&self, document: Document) -> Result<PathBuf, Failure> {
        let name = match &document {
            Document::Fleet => "fleet.md".to_owned(),
            Document::Agent(id) => format!("agent-{id}.md"),
            Document::Session(id) => format!("session-{id}.md"),
            Document::Entry { entry, .. } => format!("entry-{entry}.md"),
        };
        let text = self.read_document(document).await?.text;
        self.write_file(&name, &text)
    }

    /// Writes a file of ours for the editor to show.
    pub(super) fn write_file(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(ErrorCode::Failed, format!("the document \"{name}\" cannot be written: {error}"))
        };
        let safe: String =
            name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
        let folder = self.dirs.state().join("documents");
        self.dirs.create(&folder).map_err(failed)?;
        let file = folder.join(safe);
        std::fs::write(&file, text).map_err(failed)?;
        Ok(file)
    }

    /// Asks the editor to show a file.
    pub(super) fn show_file(&self, file: &std::path::Path) -> Result<String, Failure> {
        let uri = Uri::from_file_path(file)
            .ok_or_else(|| Failure::new(ErrorCode::Failed, format!("{} has no URI", file.display())))?;
        let text = uri.to_string();
        self.outbox.send(Outgoing::ShowDocument { uri, selection: None });
        Ok(text)
    }
}
