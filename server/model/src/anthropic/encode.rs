//! A history in the words of the Messages API.
//!
//! Every user message ends in `}]}`: its last block, its list and itself. Cache marks are set by splicing there.

use crate::json::put_field;
use crate::wire::{NO_OUTPUT, Part, Profile, Unit, parts, sent_arguments};
use crate::{AssistantBlock, AssistantMessage, ContentBlock, ToolResultMessage};

/// Writes the wire message of one unit with a leading comma, or nothing where it says nothing.
pub(crate) fn unit(profile: &Profile, unit: &Unit<'_>, out: &mut Vec<u8>) {
    let role = if matches!(unit, Unit::Assistant(_)) { "assistant" } else { "user" };
    out.extend_from_slice(b",{\"role\":\"");
    out.extend_from_slice(role.as_bytes());
    out.extend_from_slice(b"\",\"content\":");
    // The list opens with its first block, so that an empty one can be told.
    let opened = out.len();
    match unit {
        Unit::User(content) => user(content, profile.images, out),
        Unit::Assistant(message) => assistant(profile, message, out),
        Unit::Results(batch) => batch.iter().for_each(|result| tool_result(result, profile.images, out)),
    }
    if out.len() == opened {
        out.clear();
        return;
    }
    out[opened] = b'[';
    out.extend_from_slice(b"]}");
}

/// Begins a block; the comma of the first one becomes the list's bracket.
fn begin(out: &mut Vec<u8>, kind: &str) {
    out.extend_from_slice(b",{");
    put_field(out, "type", kind);
}

fn text_block(out: &mut Vec<u8>, text: &str) {
    begin(out, "text");
    put_field(out, "text", text);
    out.push(b'}');
}

fn part_block(out: &mut Vec<u8>, part: &Part<'_>) {
    match part {
        Part::Text(text) => text_block(out, text),
        Part::Image { mime_type, data } => {
            begin(out, "image");
            out.extend_from_slice(b",\"source\":{");
            put_field(out, "type", "base64");
            put_field(out, "media_type", mime_type);
            put_field(out, "data", data);
            out.extend_from_slice(b"}}");
        }
    }
}

fn user(content: &[ContentBlock], images: bool, out: &mut Vec<u8>) {
    parts(content, images).for_each(|part| part_block(out, &part));
}

fn assistant(profile: &Profile, message: &AssistantMessage, out: &mut Vec<u8>) {
    let says_something = message.tool_calls().next().is_some() || !message.text().trim().is_empty();
    if !says_something {
        return;
    }
    for block in &message.content {
        match block {
            AssistantBlock::Text { text } if text.trim().is_empty() => {}
            AssistantBlock::Text { text } => text_block(out, text),
            AssistantBlock::Thinking { .. } => match profile.replayed(block) {
                Some((_, data, true)) => {
                    begin(out, "redacted_thinking");
                    put_field(out, "data", data);
                    out.push(b'}');
                }
                Some((thinking, signature, false)) => {
                    begin(out, "thinking");
                    put_field(out, "thinking", thinking);
                    put_field(out, "signature", signature);
                    out.push(b'}');
                }
                None => {}
            },
            AssistantBlock::ToolCall { id, name, arguments } => {
                begin(out, "tool_use");
                put_field(out, "id", id.as_str());
                put_field(out, "name", name);
                out.extend_from_slice(b",\"input\":");
                out.extend_from_slice(sent_arguments(arguments).as_bytes());
                out.push(b'}');
            }
        }
    }
}

fn tool_result(result: &ToolResultMessage, images: bool, out: &mut Vec<u8>) {
    begin(out, "tool_result");
    put_field(out, "tool_use_id", result.tool_call_id.as_str());
    let parts: Vec<_> = parts(&result.content, images).collect();
    if parts.iter().any(|part| matches!(part, Part::Image { .. })) {
        out.extend_from_slice(b",\"content\":");
        let opened = out.len();
        for part in &parts {
            part_block(out, part);
        }
        out[opened] = b'[';
        out.push(b']');
    } else {
        let texts: Vec<_> = parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(*text),
                Part::Image { .. } => None,
            })
            .collect();
        let joined = texts.join("\n");
        put_field(out, "content", if texts.is_empty() { NO_OUTPUT } else { &joined });
    }
    if result.is_error {
        out.extend_from_slice(b",\"is_error\":true");
    }
    out.push(b'}');
}
