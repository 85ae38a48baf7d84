//! Finding files and folders by name.

use globset::{GlobBuilder, GlobMatcher};

use super::walk::{Bounds, walk};
use super::{Cut, EnvironmentError, FindOutcome, FindRequest};

/// See [`Environment::find`](super::Environment::find).
pub(super) fn find(request: &FindRequest, bounds: &Bounds) -> Result<FindOutcome, EnvironmentError> {
    let metadata =
        std::fs::metadata(&request.path).map_err(|error| EnvironmentError::io(&request.path, error))?;
    if !metadata.is_dir() {
        return Err(EnvironmentError::NotFolder(request.path.clone()));
    }
    let whole_path = request.pattern.contains('/');
    let matcher = matcher(request)?;
    let mut outcome = FindOutcome::default();
    for entry in walk(&request.path) {
        outcome.cut = bounds.check()?;
        if outcome.cut.is_some() {
            break;
        }
        let Ok(entry) = entry else {
            outcome.unreadable += 1;
            continue;
        };
        if entry.depth() == 0 {
            continue;
        }
        let matches = match entry.path().strip_prefix(&request.path) {
            Ok(inside) if whole_path => matcher.is_match(inside) || matcher.is_match(entry.path()),
            _ => matcher.is_match(entry.file_name()),
        };
        if !matches {
            continue;
        }
        if outcome.paths.len() >= request.limit {
            outcome.cut = Some(Cut::Limit);
            break;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        outcome.paths.push((entry.into_path(), is_folder));
    }
    Ok(outcome)
}

fn matcher(request: &FindRequest) -> Result<GlobMatcher, EnvironmentError> {
    let pattern = request.pattern.as_str();
    // `src/*.rs` is meant at any depth.
    let anywhere = pattern.contains('/') && !pattern.starts_with('/') && !pattern.starts_with("**/");
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let pattern = if anywhere { format!("**/{pattern}") } else { pattern.to_owned() };
    GlobBuilder::new(&pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| EnvironmentError::Pattern(error.to_string()))
}
