//! Serving our documents: by request, and as plain files that any editor can open.

use std::io::Write as _;
use std::path::{Path, PathBuf};

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

/// The folder of our files in the state folder.
const FOLDER: &str = "documents";

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
        let request = PageRequest { limit: ENTRIES, shown_only: true, ..PageRequest::default() };
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
        let request = PageRequest { limit: ENTRIES, shown_only: true, ..PageRequest::default() };
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
        let request = PageRequest { limit: usize::MAX, shown_only: true, ..PageRequest::default() };
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
        let file = self.file_of(name);
        self.dirs.create(&self.dirs.state().join(FOLDER)).map_err(failed)?;
        replace(&file, text).map_err(failed)?;
        Ok(file)
    }

    /// Where a file of ours with this name is.
    pub(super) fn file_of(&self, name: &str) -> PathBuf {
        let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        self.dirs.state().join(FOLDER).join(name.chars().map(safe).collect::<String>())
    }

    /// Asks the editor to show a file.
    pub(super) fn show_file(&self, file: &Path) -> Result<String, Failure> {
        let uri = Uri::from_file_path(file)
            .ok_or_else(|| Failure::new(ErrorCode::Failed, format!("{} has no URI", file.display())))?;
        let text = uri.to_string();
        self.outbox.send(Outgoing::ShowDocument { uri, selection: None });
        Ok(text)
    }
}

/// Replaces a file at once, so that an editor that reads it meanwhile sees no half. Prompts and answers are in it: only its
/// owner may read it.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    // Made with mode 0600.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_document_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("compose.md");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        super::replace(&file, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
