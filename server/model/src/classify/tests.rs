//! Refusals as providers send them.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;

use super::{event_error, http_error};
use crate::ModelError;

fn refused(status: u16, headers: &[(&'static str, &str)], body: &str) -> ModelError {
    let pairs = headers.iter().map(|(name, value)| {
        (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"))
    });
    http_error("h".into(), status, &pairs.collect::<HeaderMap>(), body.as_bytes())
}

#[test]
fn statuses_and_words_decide_the_class() {
    let overflow: &[(u16, &str)] = &[
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192"}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
        ),
        (
            400,
            r#"{"error":{"type":"exceed_context_size_error","message":"the request exceeds the available context size"}}"#,
        ),
        (413, ""),
        (422, r#"{"detail":"Input is too long for requested model"}"#),
    ];
    for (status, body) in overflow {
        let error = refused(*status, &[], body);
        assert!(error.is_overflow() && !error.retryable(), "{body}: {error:?}");
    }
    let quota: &[(u16, &str)] = &[
        (429, r#"{"error":{"type":"insufficient_quota","message":"You exceeded your current quota"}}"#),
        (403, r#"{"error":"Your credit balance is too low"}"#),
        (402, "pay"),
    ];
    for (status, body) in quota {
        let error = refused(*status, &[], body);
        assert!(matches!(error, ModelError::Quota { .. }) && !error.retryable(), "{body}: {error:?}");
    }
    let retried: &[(u16, &str)] = &[
        (429, r#"{"error":{"message":"Rate limit reached: too many tokens per minute"}}"#),
        (400 + 8, ""),
        (500, "<html>"),
        (502, ""),
        (503, "x"),
        (524, ""),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
    ];
    for (status, body) in retried {
        let error = refused(*status, &[], body);
        assert!(matches!(error, ModelError::Http { .. }) && error.retryable(), "{body}: {error:?}");
    }
    for (status, body) in [
        (400, "there are 15000 of them, 429 or 500"),
        (401, "Incorrect API key"),
        (404, r#"{"error":{"message":"no such model"}}"#),
        (400, r#"{"error":{"message":"rate limit of prompt is too long"}}"#),
    ] {
        assert!(!refused(status, &[], body).retryable(), "{body}");
    }
    assert!(refused(409, &[("x-should-retry", "true")], "").retryable());
    assert!(!refused(503, &[("x-should-retry", "false")], "").retryable());
}

#[test]
fn hints_are_read_in_all_their_forms() {
    let hint = |headers: &[(&'static str, &str)]| refused(429, headers, "").retry_after();
    assert_eq!(hint(&[("retry-after", "3")]), Some(Duration::from_secs(3)));
    assert_eq!(hint(&[("retry-after", " 0.5 ")]), Some(Duration::from_millis(500)));
    assert_eq!(hint(&[("retry-after-ms", "1500"), ("retry-after", "9")]), Some(Duration::from_millis(1500)));
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
    let seconds = hint(&[("retry-after", &date)]).expect("a date").as_secs();
    assert!((28..=30).contains(&seconds), "{seconds}");
    assert_eq!(hint(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(Duration::ZERO));
    for junk in ["soon", "-1", "1e99", "NaN", ""] {
        assert_eq!(hint(&[("retry-after", junk)]), None, "{junk}");
    }
}

#[test]
fn explanations_are_found_wherever_they_are() {
    let table = [
        (r#"{"error":{"message":"a","code":"b"}}"#, "a"),
        (r#"{"error":{"message":"a","type":"t","code":"b"}}"#, "a (b)"),
        (r#"{"error":"plain"}"#, "plain"),
        (r#"{"message":"m"}"#, "m"),
        (r#"{"detail":"d"}"#, "d"),
        (r#"[{"error":{"message":"in a list"}}]"#, "in a list"),
        (
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"the reason"}}}"#,
            "Provider returned error: the reason",
        ),
        (r#"{"unknown":1}"#, r#"{"unknown":1}"#),
        ("<html>no</html>", "<html>no</html>"),
        ("", "(no explanation)"),
    ];
    for (body, expected) in table {
        let ModelError::Http { message, .. } = refused(418, &[], body) else { panic!("an HTTP error") };
        assert_eq!(message, expected, "{body}");
    }
    let ModelError::Http { message, .. } = refused(418, &[], &"ä".repeat(5000)) else {
        panic!("an HTTP error")
    };
    assert_eq!(message.chars().count(), 2001);
}

#[test]
fn errors_inside_streams_are_classed_too() {
    let event = |json: &str| event_error(serde_json::from_str::<&RawValue>(json).expect("valid"));
    let retried = |json: &str| event(json).retryable();
    assert!(retried(r#"{"type":"overloaded_error","message":"x"}"#));
    assert!(retried(r#"{"type":"api_error","message":"x"}"#));
    assert!(retried(r#"{"code":502,"message":"Provider disconnected"}"#));
    assert!(retried(r#"{"code":429,"message":"slow down"}"#));
    assert!(retried(r#""something broke""#));
    assert!(!retried(r#"{"code":400,"message":"bad"}"#));
    assert!(!retried(r#"{"type":"authentication_error","message":"x"}"#));
    assert!(!retried(r#"{"code":"insufficient_quota","message":"x"}"#));
    assert!(event(r#"{"code":400,"message":"maximum context length is 5"}"#).is_overflow());
    assert_eq!(
        event(r#"{"type":"api_error","message":"x"}"#).to_string(),
        "the provider reported api_error: x"
    );
}
