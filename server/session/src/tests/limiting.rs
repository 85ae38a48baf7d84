//! Runs that a limit ends.

use model::ModelError;
use vocab::{Budget, EndReason, RunStop, Usage};

use super::script::{Scripted, Step, call, text};
use super::support::{Running, config, run_with};
use crate::limits::WRAP_UP;
use crate::{Ledger, RunLimits, SessionKind};

fn limits() -> RunLimits {
    RunLimits {
        max_turns: 2,
        grace_turns: 2,
        identical_calls: 0,
        no_progress_turns: 0,
        ..RunLimits::default()
    }
}

fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), cost_usd: None }
}

fn busy(id: &'static str) -> Vec<Step> {
    vec![call(id, "same", "")]
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_to_wrap_up_and_may() {
    let model = Scripted::new(vec![busy("c1"), busy("c2"), vec![text("so far")]]);
    let mut config = config(&model);
    config.limits = limits();
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.wrapped_up, outcome.turns), (RunStop::EndTurn, true, 3));
    assert_eq!(outcome.text, "so far");
    assert_eq!(model.last().said().last().unwrap(), &format!("u:{WRAP_UP}"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_by_itself_at_its_limit_just_ends() {
    let model = Scripted::new(vec![busy("c1"), vec![text("done")]]);
    let mut config = config(&model);
    config.limits = limits();
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.wrapped_up, outcome.turns), (RunStop::EndTurn, false, 2));

    let model = Scripted::new(vec![busy("c1"), busy("c2"), busy("c3"), vec![text("done")]]);
    let mut config = super::support::config(&model);
    config.limits = limits();
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.wrapped_up, outcome.turns), (RunStop::EndTurn, true, 4));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_does_not_wrap_up_is_ended() {
    let model = Scripted::new(vec![busy("c1"), busy("c2"), busy("c3"), busy("c4")]);
    let mut config = config(&model);
    config.limits = limits();
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.reason, outcome.turns), (RunStop::Limit, Some(EndReason::MaxTurns), 4));
    assert!(outcome.error.is_some());
}

#[tokio::test(start_paused = true)]
async fn repetition_and_standstill_end_a_run() {
    let turns = || vec![busy("c1"), busy("c2"), busy("c3")];
    let model = Scripted::new(turns());
    let mut config = config(&model);
    config.limits = RunLimits { max_turns: 0, identical_calls: 3, ..limits() };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.reason, outcome.turns), (Some(EndReason::RepeatedCall), 3));

    let model = Scripted::new(turns());
    let mut config = super::support::config(&model);
    config.limits = RunLimits { max_turns: 0, no_progress_turns: 2, ..limits() };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.reason, outcome.turns), (Some(EndReason::NoProgress), 3));
}

#[tokio::test(start_paused = true)]
async fn tokens_end_a_run_before_the_next_request() {
    let usage = Usage::of_tokens(60, 0, 0, 0);
    let model = Scripted::new(vec![
        vec![call("c1", "same", ""), Step::Usage(usage)],
        vec![call("c2", "same", ""), Step::Usage(usage)],
    ]);
    let mut config = config(&model);
    config.limits = RunLimits { max_turns: 0, budget: tokens(100), ..limits() };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.reason), (RunStop::Limit, Some(EndReason::Tokens)));
    assert_eq!((outcome.usage.total, outcome.tool_uses), (120, 2));
}

#[tokio::test(start_paused = true)]
async fn known_costs_end_a_run_though_others_are_unknown() {
    let paid = Usage { cost_usd: Some(0.6), ..Usage::of_tokens(1, 0, 0, 0) };
    let unknown = Usage::of_tokens(1_000, 0, 0, 0);
    let model = Scripted::new(vec![
        vec![call("c1", "same", ""), Step::Usage(unknown)],
        vec![call("c2", "same", ""), Step::Usage(paid)],
        vec![call("c3", "same", ""), Step::Usage(paid)],
    ]);
    let mut config = config(&model);
    let budget = Budget { tokens: None, cost_usd: Some(1.0) };
    config.limits = RunLimits { max_turns: 0, budget, ..limits() };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.reason, outcome.turns, outcome.usage.cost_usd), (Some(EndReason::Cost), 3, None));
}

#[tokio::test(start_paused = true)]
async fn what_others_of_the_session_spend_ends_a_run_too() {
    let used = |tokens| Step::Usage(Usage::of_tokens(tokens, 0, 0, 0));
    let ledger = Ledger::default();
    ledger.set_limit(tokens(100));
    ledger.record(SessionKind::Parent, Usage::of_tokens(50, 0, 0, 0));
    let model =
        Scripted::new(vec![vec![call("c1", "same", ""), used(30)], vec![call("c2", "same", ""), used(30)]]);
    let config = crate::SessionConfig { kind: SessionKind::Child, ledger: ledger.clone(), ..config(&model) };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.reason, outcome.turns), (RunStop::Limit, Some(EndReason::Tokens), 2));
    assert!(outcome.error.is_some_and(|error| error.contains("the session's limit of 100 tokens")));
    assert_eq!(ledger.spent().total, 110);

    let model = Scripted::new(Vec::new());
    let config = crate::SessionConfig { ledger: ledger.clone(), ..super::support::config(&model) };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!(
        (outcome.stop, outcome.turns, model.seen().len()),
        (RunStop::Limit, 0, 0),
        "no request at all"
    );
}

#[tokio::test(start_paused = true)]
async fn failed_attempts_use_up_a_budget_and_no_turns() {
    let cut = || Step::Fail(ModelError::Cut { detail: "no finish".into() });
    let used = |tokens| Step::Usage(Usage::of_tokens(tokens, 0, 0, 0));
    let script = || {
        vec![
            vec![used(40), cut()],
            vec![used(40), cut()],
            vec![call("c1", "same", ""), used(1)],
            vec![text("done"), used(1)],
        ]
    };
    let model = Scripted::new(script());
    let mut config = config(&model);
    config.limits = limits();
    let (session, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.wrapped_up, outcome.turns), (RunStop::EndTurn, false, 2));
    assert_eq!((outcome.usage.total, session.info().usage.total), (82, 82));

    let model = Scripted::new(script());
    let mut config = super::support::config(&model);
    config.limits = RunLimits { budget: tokens(80), ..limits() };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.reason, outcome.turns, model.seen().len()), (Some(EndReason::Tokens), 0, 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_calls_never_exceeds_its_turns() {
    let model = Scripted::new(vec![vec![text("done")]]);
    let mut config = config(&model);
    config.limits = RunLimits { max_turns: 1, ..limits() };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.wrapped_up, outcome.turns), (RunStop::EndTurn, false, 1));

    let model = Scripted::new(vec![busy("c1"), vec![text("done")]]);
    let mut config = super::support::config(&model);
    config.limits = RunLimits { max_turns: 1, grace_turns: 1, ..limits() };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.wrapped_up, outcome.turns), (RunStop::EndTurn, true, 2));
}

#[tokio::test(start_paused = true)]
async fn limits_can_change_under_way() {
    let model =
        Scripted::new(vec![vec![Step::Wait(std::time::Duration::from_secs(1)), call("c1", "same", "")]]);
    let running = Running::start(config(&model), "go");
    running.handle.set_limits(RunLimits { max_turns: 1, grace_turns: 0, ..limits() });
    let (_, outcome) = running.end().await;
    assert_eq!(outcome.reason, Some(EndReason::MaxTurns));
}
