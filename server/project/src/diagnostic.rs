//! What is wrong with a file that a person wrote, in a form that an editor can put on a line.

use std::fmt;
use std::path::PathBuf;

/// Whether the file still counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file is used, a part of it is not.
    Warning,
    /// The file is not used.
    Error,
}

/// One finding about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub path: PathBuf,
    /// Counted from 1; absent where the fault is the file itself.
    pub line: Option<usize>,
    pub severity: Severity,
    /// What is wrong and what to write instead, without the path.
    pub message: String,
}

impl Diagnostic {
    /// A finding that leaves the file in use.
    pub fn warning(path: impl Into<PathBuf>, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, severity: Severity::Warning, message: message.into() }
    }

    /// A finding that puts the file out of use.
    pub fn error(path: impl Into<PathBuf>, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, severity: Severity::Error, message: message.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}
