//! Runs that a limit ends.

use vocab::{EndReason, RunStop, Usage};

use super::script::{Scripted, Step, call, text};
use super::support::{Running, config, run_with};
use crate::RunLimits;
use crate::limits::WRAP_UP;

fn limits() -> RunLimits {
    RunLimits {
        max_turns: 2,
        grace_turns: 2,
        identical_calls: 0,
        no_progress_turns: 0,
        ..RunLimits::default()
    }
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
    config.limits = RunLimits { max_turns: 0, tokens: 100, ..limits() };
    let (_, outcome) = run_with(config, "go").await;
    assert_eq!((outcome.stop, outcome.reason), (RunStop::Limit, Some(EndReason::Tokens)));
    assert_eq!((outcome.usage.total, outcome.tool_uses), (120, 2));
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
