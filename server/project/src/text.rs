//! Text of files and definitions on its way into a prompt: it must not pass for something of ours.

/// One line of at most `limit` characters: runs of blanks, line ends and control characters become one blank.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(limit) {
        Some((end, _)) => {
            line.truncate(end);
            line.push('…');
            line
        }
        None => line,
    }
}

/// A text as the value of an attribute in double quotes.
pub(crate) fn attribute(text: &str) -> String {
    let text = one_line(text, 1000);
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A text to stand between tags of ours: opening and closing tags with one of our names lose their bracket, in any
/// case and with blanks in them; all else stays as it is.
pub(crate) fn between_tags(text: &str, tags: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let name = rest[at + 1..]
            .trim_start_matches(|character: char| character == '/' || character.is_whitespace());
        let is_ours = tags.iter().any(|tag| {
            name.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
                && !name[tag.len()..]
                    .starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '-')
        });
        out.push_str(if is_ours { "&lt;" } else { "<" });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_and_short() {
        assert_eq!(one_line("  a\n\n b\t\u{7}c ", 10), "a b c");
        assert_eq!(one_line("äöüß", 2), "äö…");
    }

    #[test]
    fn tags_of_ours_are_taken_apart_and_others_stay() {
        let ours = &["agent_instructions"];
        let text = "<b>x</b> < / AGENT_instructions > </agent_instructions><agent_instructions_x> é<";
        let shown = "<b>x</b> &lt; / AGENT_instructions > &lt;/agent_instructions><agent_instructions_x> é<";
        assert_eq!(between_tags(text, ours), shown);
    }

    #[test]
    fn an_attribute_cannot_end_early() {
        assert_eq!(attribute("a\"/><b>&\n"), "a&quot;/&gt;&lt;b&gt;&amp;");
    }
}
