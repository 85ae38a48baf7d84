//! What people are told of a disk that does not take their sessions: once when it begins, once when it is over.

use std::collections::BTreeSet;
use std::path::PathBuf;

use session::storage::DiskNews;
use tower_lsp::ls_types::MessageType;

use super::Manager;
use crate::outbox::Outgoing;

/// Files that refuse their lines at present, and what they have lost so far.
#[derive(Debug, Default)]
pub(super) struct DiskTrouble {
    refusing: BTreeSet<PathBuf>,
    lost: u64,
}

impl DiskTrouble {
    /// Takes what a file came to; answers what a person is told. A disk that is full refuses all files at once: that is
    /// one message, and so is its end.
    fn hear(&mut self, news: DiskNews) -> Option<(MessageType, String)> {
        match news {
            DiskNews::Refused { path, message } => {
                let first = self.refusing.is_empty();
                let told = format!(
                    "History is not being kept: cannot write {}: {message}. Agents go on; what they do is written once \
                     the disk takes it.",
                    path.display()
                );
                self.refusing.insert(path);
                first.then_some((MessageType::WARNING, told))
            }
            DiskNews::Recovered { path, lost } => {
                self.lost += lost;
                if !self.refusing.remove(&path) || !self.refusing.is_empty() {
                    return None;
                }
                Some(match std::mem::take(&mut self.lost) {
                    0 => {
                        (MessageType::INFO, "History is being kept again, and nothing is missing.".to_owned())
                    }
                    lost => (
                        MessageType::WARNING,
                        format!(
                            "History is being kept again; {lost} entries are missing, where the files say so."
                        ),
                    ),
                })
            }
            DiskNews::Removed { path } => Some((
                MessageType::WARNING,
                format!(
                    "{} was removed while it was in use: the history before now is gone.",
                    path.display()
                ),
            )),
        }
    }
}

impl Manager {
    /// A file of a session fares otherwise than before.
    pub(super) fn disk_news(&mut self, news: DiskNews) {
        let Some((kind, text)) = self.disk_trouble.hear(news) else { return };
        if self.ports.headless {
            self.ports.workspaces.warn(text);
        } else {
            self.ports.outbox.send(Outgoing::Message(kind, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_for_a_disk_and_one_for_its_end() {
        let mut trouble = DiskTrouble::default();
        let refused =
            |name: &str| DiskNews::Refused { path: name.into(), message: "no space left on device".into() };
        let recovered = |name: &str, lost| DiskNews::Recovered { path: name.into(), lost };
        let (kind, told) = trouble.hear(refused("/s/a.jsonl")).unwrap();
        assert!(
            kind == MessageType::WARNING && told.contains("/s/a.jsonl") && told.contains("no space left"),
            "{told}"
        );
        assert_eq!(trouble.hear(refused("/s/b.jsonl")), None);
        assert_eq!(trouble.hear(recovered("/s/b.jsonl", 3)), None);
        assert_eq!(trouble.hear(recovered("/s/other.jsonl", 0)), None);
        let (kind, told) = trouble.hear(recovered("/s/a.jsonl", 0)).unwrap();
        assert!(kind == MessageType::WARNING && told.contains("3 entries are missing"), "{told}");
        // It is told anew the next time.
        assert!(trouble.hear(refused("/s/a.jsonl")).is_some());
        let (kind, told) = trouble.hear(recovered("/s/a.jsonl", 0)).unwrap();
        assert!(kind == MessageType::INFO && told.contains("nothing is missing"), "{told}");
        assert!(trouble.hear(DiskNews::Removed { path: "/s/a.jsonl".into() }).is_some());
    }
}
