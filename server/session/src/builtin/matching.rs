//! Where an edit's old text stands in a file: exactly, or as a person would say that it does.

/// A text as it is compared, with the way back to the bytes that it came from.
///
/// What is compared may differ from the file in line ends, and in the lenient view in trailing blanks and typographic
/// characters; what is replaced are always the file's own bytes, so all others stay as they are.
#[derive(Debug)]
pub(super) struct View {
    text: String,
    segments: Vec<Segment>,
}

/// A stretch of the view and of the original. Lengths differ only where one character stands for another.
#[derive(Debug, Clone, Copy)]
struct Segment {
    view: usize,
    view_len: usize,
    original: usize,
    original_len: usize,
}

/// A part of the original, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl View {
    /// Every line end is LF.
    pub(super) fn exact(original: &str) -> Self {
        let mut view = Self { text: String::with_capacity(original.len()), segments: Vec::new() };
        let mut at = 0;
        for line in original.split_inclusive('\n') {
            match line.strip_suffix("\r\n") {
                Some(body) => {
                    view.keep(body, at);
                    view.keep("\n", at + body.len() + 1);
                }
                None => view.keep(line, at),
            }
            at += line.len();
        }
        view
    }

    /// As [`exact`](Self::exact); also without blanks at the ends of lines, and with plain quotes, dashes and spaces.
    pub(super) fn lenient(original: &str) -> Self {
        let mut view = Self { text: String::with_capacity(original.len()), segments: Vec::new() };
        let mut at = 0;
        for line in original.split_inclusive('\n') {
            let body = line.strip_suffix('\n').unwrap_or(line);
            for (offset, c) in body.trim_end().char_indices() {
                let plain = plain_char(c);
                if plain == c {
                    view.keep(&body[offset..offset + c.len_utf8()], at + offset);
                } else {
                    view.replace(c, plain, at + offset);
                }
            }
            if body.len() < line.len() {
                view.keep("\n", at + body.len());
            }
            at += line.len();
        }
        view
    }

    /// Where `wanted`, itself in this view's form, stands; more than one place where it is not unique. Places that
    /// overlap count, since which one was meant is open too.
    pub(super) fn places(&self, wanted: &str) -> Vec<Span> {
        let mut places = Vec::new();
        let mut from = 0;
        let Some(first) = wanted.chars().next() else { return places };
        while let Some(found) = self.text[from..].find(wanted) {
            let start = from + found;
            places.push(self.span(start, start + wanted.len()));
            if places.len() == MOST_PLACES {
                break;
            }
            from = start + first.len_utf8();
        }
        places
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let first = self.segment_at(start);
        let last = self.segment_at(end - 1);
        let start = if first.view_len == first.original_len {
            first.original + (start - first.view)
        } else {
            first.original
        };
        let end = if last.view_len == last.original_len {
            last.original + (end - last.view)
        } else {
            last.original + last.original_len
        };
        Span { start, end }
    }

    fn segment_at(&self, view: usize) -> Segment {
        let after = self.segments.partition_point(|segment| segment.view <= view);
        self.segments[after - 1]
    }

    /// Adds text that is the same in both; joins it to the last stretch where it follows that in the original too.
    fn keep(&mut self, text: &str, original: usize) {
        if text.is_empty() {
            return;
        }
        match self.segments.last_mut() {
            Some(last)
                if last.view_len == last.original_len && last.original + last.original_len == original =>
            {
                last.view_len += text.len();
                last.original_len += text.len();
            }
            _ => self.segments.push(Segment {
                view: self.text.len(),
                view_len: text.len(),
                original,
                original_len: text.len(),
            }),
        }
        self.text.push_str(text);
    }

    fn replace(&mut self, from: char, to: char, original: usize) {
        self.segments.push(Segment {
            view: self.text.len(),
            view_len: to.len_utf8(),
            original,
            original_len: from.len_utf8(),
        });
        self.text.push(to);
    }
}

/// More places than this are not counted.
pub(super) const MOST_PLACES: usize = 100;

fn plain_char(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}
