//! The seam: hooks in their order, what they can change, and that their faults stay theirs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::{ContentBlock, Message};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use vocab::WaitingOn;

use super::script::{Scripted, call, text};
use super::support::{Running, config, results, run_with, tool};
use crate::{
    BeforeStartAnswer, Card, CustomMessage, ExtensionApi, Prompt, Session, SessionConfig, SessionKind,
    ShutdownReason, StartReason, SwitchDecision, SwitchEvent, ToolCallDecision, ToolOutcome, ToolOutput,
    ToolResultPatch, inside_child_context,
};

fn extend(config: &mut SessionConfig, extension: impl Fn(&mut ExtensionApi) + Send + Sync + 'static) {
    config.extensions.push(Arc::new(extension));
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_block_change_or_wait() {
    let model = Scripted::new(vec![
        vec![
            call("c1", "read", r#"{"path":"secret"}"#),
            call("c2", "read", r#"{"path":"a"}"#),
            call("c3", "same", ""),
        ],
        vec![text("ok")],
    ]);
    let mut config = config(&model);
    extend(&mut config, |api| {
        api.on_tool_call(|event| {
            Box::pin(async move {
                if event.arguments["path"] == "secret" {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    return ToolCallDecision::Block { reason: "not yours".into(), terminate: false };
                }
                ToolCallDecision::Proceed { arguments: json!({ "path": 7 }) }
            })
        });
    });
    let running = Running::start(config, "go");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let uses = running.handle.progress().borrow().clone();
    assert_eq!(uses.waiting_on, Some(WaitingOn::Tool));
    let (session, _) = running.end().await;
    assert_eq!(
        model.last().said()[2..],
        ["r!:c1:not yours", "r:c2:read {\"path\":7}", "r:c3:same"],
        "changed arguments are not validated again, and nobody waits for another's hook"
    );
    assert_eq!(results(&session)[0].1, ToolOutcome::Blocked);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_fails_permits_nothing() {
    let model = Scripted::new(vec![vec![call("c1", "same", "")], vec![text("ok")]]);
    let mut config = config(&model);
    extend(&mut config, |api| api.on_tool_call(|_| panic!("a faulty check")));
    extend(&mut config, |api| api.on_before_turn(|_| panic!("a faulty owner")));
    extend(&mut config, |api| api.on_tool_result(|_| Box::pin(async { panic!("a faulty renderer") })));
    let (session, outcome) = run_with(config, "go").await;
    assert_eq!(outcome.text, "ok");
    assert_eq!(results(&session)[0].1, ToolOutcome::Blocked);
    assert!(model.last().said()[2].starts_with("r!:c1:Not run: the check before it failed."));
}

#[tokio::test(start_paused = true)]
async fn results_can_be_changed_field_by_field() {
    let model = Scripted::new(vec![
        vec![call("c1", "same", ""), call("c2", "fail", ""), call("c3", "nothing_like_it", "")],
        vec![text("ok")],
    ]);
    let mut config = config(&model);
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&asked);
    extend(&mut config, move |api| {
        let sink = Arc::clone(&sink);
        api.on_tool_result(move |event| {
            sink.lock().unwrap().push(event.tool_call_id.to_string());
            Box::pin(async move {
                if event.is_error {
                    return ToolResultPatch { is_error: Some(false), ..ToolResultPatch::default() };
                }
                ToolResultPatch {
                    content: Some(vec![ContentBlock::text("other")]),
                    is_error: Some(true),
                    ..ToolResultPatch::default()
                }
            })
        });
    });
    run_with(config, "go").await;
    let said = model.last().said();
    assert_eq!(said[2..4], ["r!:c1:other", "r:c2:it failed"]);
    assert!(said[4].starts_with("r!:c3:There is no tool"));
    assert_eq!(*asked.lock().unwrap(), ["c1", "c2"], "not for a call that never ran");
}

#[tokio::test(start_paused = true)]
async fn a_run_can_be_given_another_prompt_and_the_request_other_messages() {
    let model = Scripted::new(vec![vec![text("one")], vec![text("two")]]);
    let mut config = config(&model);
    extend(&mut config, |api| {
        api.on_before_agent_start(|event| {
            Box::pin(async move {
                BeforeStartAnswer {
                    system_prompt: Some(format!("{} and kind", event.system_prompt).into()),
                    messages: vec![CustomMessage::text("note", "by the way").into()],
                }
            })
        });
        api.on_context(|mut messages| {
            Box::pin(async move {
                messages.push(Arc::new(Message::user("once")));
                messages
            })
        });
    });
    let (mut session, _) = run_with(config, "go").await;
    assert_eq!(model.last().system, "be brief and kind");
    assert_eq!(model.last().said(), ["u:go", "u:by the way", "u:once"]);
    session.run(Prompt::new("next"), CancellationToken::new()).await;
    assert_eq!(model.last().system, "be brief and kind", "each run begins with the session's own");
    assert_eq!(model.last().said(), ["u:go", "u:by the way", "a:one", "u:next", "u:by the way", "u:once"]);
}

#[tokio::test(start_paused = true)]
async fn tools_of_extensions_come_after_the_given_ones() {
    let model = Scripted::new(vec![vec![call("c1", "extra", "")], vec![]]);
    let mut config = config(&model);
    extend(&mut config, |api| {
        let answer = |text: &'static str| {
            let mut tool = tool("extra", json!({ "type": "object" }), |_| {
                Box::pin(async { Ok(ToolOutput::text("from the extension")) })
            });
            tool.description = text.into();
            tool
        };
        api.register_tool(answer("first"));
        api.register_tool(answer("second"));
        api.register_tool(tool("same", json!({ "type": "object" }), |_| {
            Box::pin(async { Ok(ToolOutput::text("never reached")) })
        }));
    });
    let (session, _) = run_with(config, "go").await;
    assert_eq!(model.last().said()[2], "r:c1:from the extension");
    assert_eq!(session.tools().get("extra").unwrap().description, "first");
    assert_eq!(model.last().tools.iter().filter(|name| *name == "same").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_tells_its_start_and_its_end() {
    let model = Scripted::new(vec![vec![text("ok")]]);
    let mut config = config(&model);
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&told);
    extend(&mut config, move |api| {
        let (start, end) = (Arc::clone(&sink), Arc::clone(&sink));
        api.on_session_start(move |reason| {
            assert_eq!(reason, StartReason::New);
            start.lock().unwrap().push("start".into());
            Box::pin(async {})
        });
        api.on_session_before_switch(|event: SwitchEvent| {
            Box::pin(async move {
                match event.target {
                    Some(_) => SwitchDecision::Refuse { reason: "busy".into() },
                    None => SwitchDecision::Allow,
                }
            })
        });
        api.on_session_shutdown(move |reason| {
            end.lock().unwrap().push(format!("{reason:?}"));
            Box::pin(tokio::time::sleep(Duration::from_mins(1)))
        });
    });
    let (mut session, _) = run_with(config, "go").await;
    assert_eq!(session.hooks().before_switch(SwitchEvent { target: None }).await, SwitchDecision::Allow);
    let refused = session.hooks().before_switch(SwitchEvent { target: Some("s2".into()) }).await;
    assert_eq!(refused, SwitchDecision::Refuse { reason: "busy".into() });
    session.handle().close();
    assert!(session.idle().await.is_none());
    let start = tokio::time::Instant::now();
    session.close(ShutdownReason::Quit).await;
    assert_eq!(start.elapsed(), Duration::from_secs(2), "an extension cannot hold up the end");
    assert_eq!(*told.lock().unwrap(), ["start", "Quit"]);
}

#[tokio::test(start_paused = true)]
async fn extensions_of_a_child_see_that_it_is_one() {
    for (kind, expected) in [(SessionKind::Parent, false), (SessionKind::Child, true)] {
        let model = Scripted::new(vec![vec![text("ok")]]);
        let mut config = config(&model);
        config.kind = kind;
        let seen: Arc<Mutex<Vec<bool>>> = Arc::default();
        let sink = Arc::clone(&seen);
        extend(&mut config, move |api| {
            assert_eq!(api.kind(), kind);
            sink.lock().unwrap().push(inside_child_context());
        });
        run_with(config, "go").await;
        assert_eq!(*seen.lock().unwrap(), [expected]);
        assert!(!inside_child_context());
    }
}

#[tokio::test(start_paused = true)]
async fn renderers_make_cards() {
    let model = Scripted::new(Vec::new());
    let mut config = config(&model);
    extend(&mut config, |api| {
        api.register_message_renderer("news", |message| Card {
            icon: "bell".into(),
            title: format!("{} news", message.content.len()),
            lines: Vec::new(),
        });
    });
    let (session, _) = Session::new(config).unwrap();
    assert!(session.renderers().has("news") && !session.renderers().has("other"));
    assert_eq!(session.renderers().card(&CustomMessage::text("news", "x")).title, "1 news");
}
