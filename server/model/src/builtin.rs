//! The few models that a key in the environment alone makes usable. Everything else is described in `models.json`.

use vocab::ThinkingLevel;

use crate::catalogue::{ModelEntry, Provider};
use crate::endpoint::ThinkingFormat;
use crate::thinking::Levels;
use crate::{Api, InputKind, Price};

/// Providers that everybody knows, each with its address, its API and some of its models.
pub(crate) fn providers() -> Vec<Provider> {
    let anthropic = [
        model("claude-sonnet-4-5", "Claude Sonnet 4.5", 200_000, 64_000, Some([3.0, 15.0, 0.3, 3.75])),
        model("claude-haiku-4-5", "Claude Haiku 4.5", 200_000, 64_000, Some([1.0, 5.0, 0.1, 1.25])),
        adaptive(model("claude-opus-4-8", "Claude Opus 4.8", 1_000_000, 128_000, None)),
    ];
    let openai = [
        efforts(model("gpt-5.1", "GPT-5.1", 400_000, 128_000, Some([1.25, 10.0, 0.125, 0.0]))),
        plain(model("gpt-4.1", "GPT-4.1", 1_047_576, 32_768, Some([2.0, 8.0, 0.5, 0.0]))),
        plain(model("gpt-4.1-mini", "GPT-4.1 mini", 1_047_576, 32_768, Some([0.4, 1.6, 0.1, 0.0]))),
    ];
    vec![
        Provider::known("anthropic", "https://api.anthropic.com", Api::AnthropicMessages, anthropic.into()),
        Provider::known("openai", "https://api.openai.com/v1", Api::OpenAiCompletions, openai.into()),
    ]
}

/// A model that thinks; prices are those of input, output, cache reads and cache writes.
fn model(id: &str, name: &str, window: u32, max_tokens: u32, price: Option<[f64; 4]>) -> ModelEntry {
    ModelEntry {
        id: id.to_owned(),
        name: name.to_owned(),
        context_window: Some(window),
        max_tokens: Some(max_tokens),
        reasoning: true,
        input: vec![InputKind::Text, InputKind::Image],
        price: price.map(|[input, output, read, write]| Price {
            input: Some(input),
            output: Some(output),
            cache_read: Some(read),
            cache_write: Some(write),
            tiers: Vec::new(),
        }),
        ..ModelEntry::default()
    }
}

fn plain(model: ModelEntry) -> ModelEntry {
    ModelEntry { reasoning: false, ..model }
}

/// It decides by itself how long it thinks, and knows the two highest levels.
fn adaptive(mut model: ModelEntry) -> ModelEntry {
    model.compat.force_adaptive_thinking = Some(true);
    let named = |level, word: &str| (level, Some(word.to_owned()));
    model.levels = Levels([named(ThinkingLevel::Xhigh, "xhigh"), named(ThinkingLevel::Max, "max")].into());
    model
}

/// It takes an effort, and `none` for no thinking.
fn efforts(mut model: ModelEntry) -> ModelEntry {
    model.compat.thinking_format = Some(ThinkingFormat::Openai);
    model.levels =
        Levels([(ThinkingLevel::Off, Some("none".to_owned())), (ThinkingLevel::Minimal, None)].into());
    model
}
