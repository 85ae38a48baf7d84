//! A history in the words of Chat Completions.

use crate::json::{put_field, put_string};
use crate::openai::parse::REASONING_FIELDS;
use crate::wire::{NO_OUTPUT, Part, Profile, Unit, parts, sent_arguments};
use crate::{AssistantBlock, AssistantMessage, ContentBlock, ToolResultMessage};

/// Writes the wire messages of one unit, each with a leading comma.
pub(crate) fn unit(profile: &Profile, unit: &Unit<'_>, out: &mut Vec<u8>) {
    match unit {
        Unit::User(content) => user(content, profile.images, out),
        Unit::Assistant(message) => assistant(profile, message, out),
        Unit::Results(batch) => results(profile, batch, out),
    }
}

fn user(content: &[ContentBlock], images: bool, out: &mut Vec<u8>) {
    let parts: Vec<_> = parts(content, images).collect();
    match parts.as_slice() {
        [] => {}
        // A plain string is what the simplest servers understand.
        [Part::Text(text)] => {
            out.extend_from_slice(b",{\"role\":\"user\"");
            put_field(out, "content", text);
            out.push(b'}');
        }
        parts => user_parts(parts.iter(), out),
    }
}

fn user_parts<'a>(parts: impl Iterator<Item = &'a Part<'a>>, out: &mut Vec<u8>) {
    out.extend_from_slice(b",{\"role\":\"user\",\"content\":[");
    for (n, part) in parts.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        match part {
            Part::Text(text) => {
                out.extend_from_slice(b"{\"type\":\"text\"");
                put_field(out, "text", text);
                out.push(b'}');
            }
            Part::Image { mime_type, data } => {
                out.extend_from_slice(b"{\"type\":\"image_url\",\"image_url\":{\"url\":");
                put_string(out, &format!("data:{mime_type};base64,{data}"));
                out.extend_from_slice(b"}}");
            }
        }
    }
    out.extend_from_slice(b"]}");
}

fn assistant(profile: &Profile, message: &AssistantMessage, out: &mut Vec<u8>) {
    let text = message.text();
    let has_text = !text.trim().is_empty();
    if !has_text && message.tool_calls().next().is_none() {
        return;
    }
    out.extend_from_slice(b",{\"role\":\"assistant\"");
    if has_text {
        put_field(out, "content", &text);
    } else {
        out.extend_from_slice(b",\"content\":null");
    }
    // The signature is the name of the field that the reasoning came in, and goes back in.
    let reasoning = message.content.iter().find_map(|block| profile.replayed(block));
    if let Some((thinking, field, _)) = reasoning.filter(|(_, field, _)| REASONING_FIELDS.contains(field)) {
        put_field(out, field, thinking);
    }
    let mut opening = ",\"tool_calls\":[";
    for block in &message.content {
        let AssistantBlock::ToolCall { id, name, arguments } = block else { continue };
        out.extend_from_slice(opening.as_bytes());
        opening = ",";
        out.push(b'{');
        put_field(out, "id", id.as_str());
        out.extend_from_slice(b",\"type\":\"function\",\"function\":{");
        put_field(out, "name", name);
        put_field(out, "arguments", sent_arguments(arguments));
        out.extend_from_slice(b"}}");
    }
    if opening == "," {
        out.push(b']');
    }
    out.push(b'}');
}

/// One message a result. Images are not allowed in them, so they follow in one user message after the batch.
fn results(profile: &Profile, batch: &[&ToolResultMessage], out: &mut Vec<u8>) {
    let mut pictures = Vec::new();
    for result in batch {
        let mut text = String::new();
        let images_before = pictures.len();
        for part in parts(&result.content, profile.images) {
            match part {
                Part::Text(piece) => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(piece);
                }
                image @ Part::Image { .. } => pictures.push(image),
            }
        }
        if text.is_empty() {
            let attached = pictures.len() > images_before;
            text.push_str(if attached { "(see the attached image)" } else { NO_OUTPUT });
        }
        out.extend_from_slice(b",{\"role\":\"tool\"");
        put_field(out, "tool_call_id", result.tool_call_id.as_str());
        if profile.tool_result_name {
            put_field(out, "name", &result.tool_name);
        }
        put_field(out, "content", &text);
        out.push(b'}');
    }
    if !pictures.is_empty() {
        let note = Part::Text("Images of the tool results above:");
        user_parts(std::iter::once(&note).chain(&pictures), out);
    }
}
