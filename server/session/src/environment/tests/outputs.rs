//! Long outputs, and credentials.

use std::ffi::OsString;

use crate::environment::output::OutputBuffer;
use crate::environment::scrub::{command_environment, is_credential};

#[test]
fn small_output_is_whole() {
    let mut buffer = OutputBuffer::new(None);
    buffer.push(b"one\n");
    buffer.push("tw\u{F6}".as_bytes());
    let output = buffer.finish();
    assert_eq!((output.head.as_str(), output.tail.as_str()), ("one\ntwö", ""));
    assert_eq!((output.total_lines, output.total_bytes, output.omitted_lines), (2, 8, None));
}

#[test]
fn long_output_keeps_head_tail_and_a_file_with_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut buffer = OutputBuffer::new(Some(folder.path().join("spill")));
    let mut all = String::new();
    for number in 1..=2_500 {
        let line = format!("line {number}\n");
        buffer.push(line.as_bytes());
        all.push_str(&line);
    }
    let output = buffer.finish();
    let spill = output.spill.unwrap();
    assert_eq!(std::fs::read_to_string(&spill.path).unwrap(), all);
    assert!(!spill.cut);
    assert_eq!(output.total_lines, 2_500);
    assert_eq!(output.omitted_lines, Some(500));
    assert!(output.head.starts_with("line 1\n") && output.head.ends_with("line 400\n"));
    assert!(output.tail.starts_with("line 901\n") && output.tail.ends_with("line 2500\n"));
}

#[test]
fn a_single_endless_line_keeps_its_end() {
    let mut buffer = OutputBuffer::new(None);
    for _ in 0..10_000 {
        buffer.push("é".repeat(50).as_bytes());
    }
    let output = buffer.finish();
    assert_eq!((output.head.as_str(), output.total_lines), ("", 1));
    assert!(output.tail.len() <= 40 * 1024 && output.tail.chars().all(|c| c == 'é'));
    assert_eq!(output.omitted_lines, Some(0));
}

#[test]
fn any_division_into_pushes_gives_the_same() {
    let text: Vec<u8> = (0..9_000).flat_map(|n| format!("{n} ü\n").into_bytes()).collect();
    let with_pieces = |size: usize| {
        let mut buffer = OutputBuffer::new(None);
        text.chunks(size).for_each(|piece| buffer.push(piece));
        buffer.finish()
    };
    let expected = with_pieces(1);
    for size in [7, 4_096, 16_384] {
        let output = with_pieces(size);
        assert_eq!((output.head, output.tail), (expected.head.clone(), expected.tail.clone()), "{size}");
        assert_eq!(output.omitted_lines, expected.omitted_lines);
    }
}

#[test]
fn deltas_have_offsets_and_whole_characters() {
    let mut buffer = OutputBuffer::new(None);
    buffer.push(b"ab\xC3");
    let delta = buffer.take_delta().unwrap();
    assert_eq!((delta.offset, delta.text.as_str()), (0, "ab"));
    assert_eq!(buffer.take_delta(), None);
    buffer.push(b"\xA9!");
    let delta = buffer.take_delta().unwrap();
    assert_eq!((delta.offset, delta.text.as_str()), (2, "é!"));
    buffer.push(&vec![b'x'; 100_000]);
    let delta = buffer.take_delta().unwrap();
    assert_eq!(delta.offset + delta.text.len() as u64, 100_005);
    assert!(delta.text.len() <= 8 * 1024);
}

#[test]
fn an_unusable_folder_loses_only_the_middle() {
    let mut buffer = OutputBuffer::new(Some("/dev/null/spill".into()));
    buffer.push("x\n".repeat(3_000).as_bytes());
    let output = buffer.finish();
    assert_eq!((output.spill, output.omitted_lines), (None, Some(1_000)));
}

#[test]
fn credentials_are_known_by_name() {
    for name in [
        "OPENAI_API_KEY",
        "anthropic_api_key",
        "GITHUB_TOKEN",
        "AWS_PROFILE",
        "AWS_SECRET_ACCESS_KEY",
        "STRIPE_SECRET",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "PGPASSWORD",
        "NPM_CONFIG__AUTH",
        "TOKEN",
    ] {
        assert!(is_credential(name), "{name}");
    }
    for name in ["PATH", "HOME", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "CARGO_HOME", "LANG", "KEYBOARD"]
    {
        assert!(!is_credential(name), "{name}");
    }
}

#[test]
fn commands_get_the_rest_and_what_keeps_them_from_asking() {
    let variables = [("PATH", "/bin"), ("X_API_KEY", "s"), ("MY_OWN", "s"), ("TERM", "xterm")];
    let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let environment = command_environment(variables.into_iter(), &["MY_OWN".to_owned()]);
    let get = |name: &str| {
        environment.iter().filter(|(n, _)| n == name).map(|(_, v)| v.to_str().unwrap()).collect()
    };
    let get = |name: &str| -> Vec<&str> { get(name) };
    assert_eq!(get("PATH"), ["/bin"]);
    assert_eq!(get("TERM"), ["dumb"]);
    assert_eq!(get("GIT_TERMINAL_PROMPT"), ["0"]);
    assert_eq!(get("X_API_KEY"), [""; 0]);
    assert_eq!(get("MY_OWN"), [""; 0]);
}
