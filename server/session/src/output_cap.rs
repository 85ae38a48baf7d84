//! The cap on what one tool call may put into a conversation, whatever tool it was.

use model::ContentBlock;
use serde_json::{Value, json};

use crate::tool::ToolOutput;

/// Bytes of text. Tools have caps of their own below this; this one holds for those that do not.
const TEXT_BYTES: usize = 64 << 10;
/// Lines of text.
const TEXT_LINES: usize = 2_500;
/// Bytes of all images, in base64.
const IMAGE_BYTES: usize = 8 << 20;
/// Bytes of details, as JSON.
const DETAIL_BYTES: usize = 256 << 10;

/// Cuts what is too long and says so where it is cut.
pub(crate) fn cap(output: &mut ToolOutput) {
    let (mut bytes, mut lines, mut image_bytes) = (TEXT_BYTES, TEXT_LINES, IMAGE_BYTES);
    for block in &mut output.content {
        match block {
            ContentBlock::Text { text } => {
                cap_text(text, bytes, lines);
                bytes = bytes.saturating_sub(text.len());
                lines = lines.saturating_sub(text.lines().count());
            }
            ContentBlock::Image { data, mime_type } if data.len() > image_bytes => {
                let size = data.len() >> 10;
                *block = ContentBlock::text(format!(
                    "[an image ({mime_type}, {size} KiB) is left out: too large]"
                ));
            }
            ContentBlock::Image { data, .. } => image_bytes -= data.len(),
        }
    }
    if !output.details.is_null() && is_longer(&output.details, DETAIL_BYTES) {
        output.details = json!({ "leftOut": "details too large" });
    }
}

fn cap_text(text: &mut String, bytes: usize, lines: usize) {
    let line_end = text.match_indices('\n').nth(lines.saturating_sub(1)).map(|(index, _)| index + 1);
    let mut end =
        line_end.filter(|_| lines > 0).unwrap_or(if lines == 0 { 0 } else { text.len() }).min(bytes);
    if end >= text.len() {
        return;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (whole, whole_lines) = (text.len(), text.lines().count());
    text.truncate(end);
    let note = format!(
        "\n\n[output cut after {} of {whole} bytes and {} of {whole_lines} lines]",
        end,
        text.lines().count()
    );
    text.push_str(&note);
}

fn is_longer(value: &Value, limit: usize) -> bool {
    struct Counter {
        left: usize,
    }
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.left = self.left.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::WriteZero)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Counter { left: limit }, value).is_err()
}

#[cfg(test)]
mod tests {
    use model::ContentBlock;
    use serde_json::json;

    use super::{DETAIL_BYTES, IMAGE_BYTES, TEXT_BYTES, cap};
    use crate::tool::ToolOutput;

    fn text(output: &ToolOutput, index: usize) -> &str {
        match &output.content[index] {
            ContentBlock::Text { text } => text,
            ContentBlock::Image { .. } => panic!("an image"),
        }
    }

    #[test]
    fn long_and_many_lines_are_cut_with_a_note() {
        let mut output = ToolOutput::text("é".repeat(TEXT_BYTES));
        output.content.push(ContentBlock::text("more"));
        cap(&mut output);
        assert!(text(&output, 0).len() < TEXT_BYTES + 100);
        assert!(text(&output, 0).ends_with("lines]"));
        assert!(text(&output, 1).contains("output cut after 0 of 4 bytes"));

        let mut output = ToolOutput::text("x\n".repeat(3_000));
        cap(&mut output);
        assert!(text(&output, 0).contains("2500 of 3000 lines"), "{}", &text(&output, 0)[5_000..]);
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let mut output = ToolOutput::text("x\n".repeat(2_000));
        output.details = json!({ "a": 1 });
        let before = output.clone();
        cap(&mut output);
        assert_eq!(output, before);
    }

    #[test]
    fn large_images_and_details_are_left_out() {
        let image = |bytes| ContentBlock::Image { mime_type: "image/png".into(), data: "A".repeat(bytes) };
        let mut output = ToolOutput {
            content: vec![image(IMAGE_BYTES), image(1)],
            details: json!("x".repeat(DETAIL_BYTES)),
            ..ToolOutput::default()
        };
        cap(&mut output);
        assert!(matches!(output.content[0], ContentBlock::Image { .. }));
        assert!(text(&output, 1).contains("is left out"));
        assert_eq!(output.details, json!({ "leftOut": "details too large" }));
    }
}
