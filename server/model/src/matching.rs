//! Which model a loosely written name means.

use crate::ModelInfo;

/// The least score that counts as a match.
const ENOUGH: f64 = 20.0;

/// The place of the model that `query` means: its full id, else the best of the similar ones, else the one of the same
/// id elsewhere, since people remember an id better than who serves it. No more than that: who names a provider must
/// not find what they write with another one because a few letters are alike.
pub(crate) fn find(query: &str, models: &[&ModelInfo]) -> Option<usize> {
    let query = query.trim();
    if query.is_empty() {
        return None;
    }
    let exact = models.iter().position(|model| model.full_id().eq_ignore_ascii_case(query));
    exact.or_else(|| similar(query, models)).or_else(|| {
        let (_, bare) = query.split_once('/')?;
        let bare = undated(bare);
        models.iter().position(|model| undated(&model.id) == bare)
    })
}

fn similar(query: &str, models: &[&ModelInfo]) -> Option<usize> {
    let query = plain(query);
    let mut best = None;
    for (place, model) in models.iter().enumerate() {
        let score = score(&query, model);
        if score >= ENOUGH && best.is_none_or(|(_, known)| score > known) {
            best = Some((place, score));
        }
    }
    best.map(|(place, _)| place)
}

fn plain(text: &str) -> String {
    text.trim().to_lowercase().replace('.', "-")
}

/// An id as it is compared, without the date of its release.
fn undated(id: &str) -> String {
    let id = plain(id);
    match id.rsplit_once('-') {
        Some((rest, date)) if is_date(date) => rest.to_owned(),
        _ => id,
    }
}

fn is_date(token: &str) -> bool {
    token.len() == 8 && token.bytes().all(|byte| byte.is_ascii_digit())
}

fn score(query: &str, model: &ModelInfo) -> f64 {
    let (id, full, name) = (plain(&model.id), plain(&model.full_id()), plain(&model.name));
    let share = |of: &str| query.len() as f64 / of.len().max(1) as f64;
    if id == query || full == query {
        return 100.0;
    }
    if id.contains(query) || full.contains(query) {
        return 60.0 + 30.0 * share(&id).min(1.0);
    }
    if name.contains(query) {
        return 40.0 + 20.0 * share(&name);
    }
    let provider = plain(&model.provider);
    let mut tokens =
        query.split([' ', '-', '/']).filter(|token| !token.is_empty() && !is_date(token)).peekable();
    let all_found = tokens.peek().is_some()
        && tokens.all(|token| id.contains(token) || name.contains(token) || provider.contains(token));
    if all_found { ENOUGH } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::{EmbeddedModel, ModelInfo};

    fn found(query: &str) -> Option<String> {
        let model = |provider: &str, id: &str, name: &str| ModelInfo {
            name: name.to_owned(),
            ..EmbeddedModel::plain_info(provider, id)
        };
        let models = [
            model("anthropic", "claude-haiku-4-5", "Claude Haiku 4.5"),
            model("anthropic", "claude-sonnet-4-5", "Claude Sonnet 4.5"),
            model("openai", "gpt-5.1", "GPT-5.1"),
            model("lab", "qwen/coder", "Qwen Coder (local)"),
            model("router", "claude-haiku-4-5", "Haiku again"),
        ];
        let models: Vec<_> = models.iter().collect();
        find(query, &models).map(|place| models[place].full_id())
    }

    #[test]
    fn names_are_matched_as_people_write_them() {
        let table = [
            ("anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
            ("Router/Claude-Haiku-4-5", "router/claude-haiku-4-5"),
            ("claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
            ("haiku", "anthropic/claude-haiku-4-5"),
            ("Sonnet 4.5", "anthropic/claude-sonnet-4-5"),
            ("gpt-5-1", "openai/gpt-5.1"),
            ("claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"),
            ("local", "lab/qwen/coder"),
            ("qwen/coder", "lab/qwen/coder"),
            ("elsewhere/gpt-5.1", "openai/gpt-5.1"),
            ("elsewhere/Claude-Sonnet-4.5-20250929", "anthropic/claude-sonnet-4-5"),
        ];
        for (query, expected) in table {
            assert_eq!(found(query).as_deref(), Some(expected), "{query}");
        }
        for query in ["", "  ", "llama", "20250929", "anthropic/llama", "gone/g", "gone/haiku", "gone/"] {
            assert_eq!(found(query), None, "{query:?}");
        }
    }
}
