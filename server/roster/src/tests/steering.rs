//! Messages into live runs.

use expect_test::expect;

use super::check;

#[test]
fn steers_of_a_queued_run_are_handed_over_at_its_start() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            steer b "first"
            steer b "second"
            settle a ok
        "#,
        &expect![[r#"
            > open s max=1
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg
              fact spawned b#1
              c2: b#1 @explore-2 queued at 1
                = a:running b:queued(1)
            > steer b "first"
              c3: s1 queued
            > steer b "second"
              c4: s2 queued
            > settle a ok
              fact settled a#1 completed
              fact started b#1
              start b#1 "do b" with [s1 "first", s2 "second"]
                = a:completed/held b:running
        "#]],
    );
}

#[test]
fn a_steer_of_a_queued_run_can_be_taken_back() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            steer b "first"
            steer b "second"
            unsteer b s1
            unsteer b s9
            settle a ok
        "#,
        &expect![[r#"
            > open s max=1
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg
              fact spawned b#1
              c2: b#1 @explore-2 queued at 1
                = a:running b:queued(1)
            > steer b "first"
              c3: s1 queued
            > steer b "second"
              c4: s2 queued
            > unsteer b s1
              c5: withdrawn
            > unsteer b s9
              c6: not withdrawn
            > settle a ok
              fact settled a#1 completed
              fact started b#1
              start b#1 "do b" with [s2 "second"]
                = a:completed/held b:running
        "#]],
    );
}

#[test]
fn a_steer_before_the_session_is_there_is_queued_after_it_is_now() {
    check(
        r#"
            open s
            spawn a explore bg
            steer a "early"
            start a
            steer a "now"
            unsteer a s2
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > steer a "early"
              steer a#1 [s1 "early"]
              c2: s1 queued
            > start a
            > steer a "now"
              steer a#1 [s2 "now"]
              c3: s2 now
            > unsteer a s2
              unsteer a#1 s2 for c4
        "#]],
    );
}

#[test]
fn ended_and_ending_runs_take_no_steer() {
    check(
        r#"
            open s
            spawn a explore bg
            stop a by=user
            steer a "late"
            settle a stopped
            steer a "later"
            unsteer a s1
            steer x "nobody"
            unsteer x s1
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              c2: stop: [a stopping]
                = a:stopping
            > steer a "late"
              c3: refused: a is not running but stopping
            > settle a stopped
              fact settled a#1 stopped by user
                = a:stopped/held
            > steer a "later"
              c4: refused: a is not running but stopped
            > unsteer a s1
              c5: not withdrawn
            > steer x "nobody"
              c6: refused: unknown agent x
            > unsteer x s1
              c7: refused: unknown agent x
        "#]],
    );
}

#[test]
fn steers_that_never_arrived_are_in_the_completion() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            start a
            steer a "hello"
            expire a "hello"
            settle a ok "done"
            expire a "after the end"
            read a
        "#,
        &expect![[r#"
            > open s max=1
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > start a
            > steer a "hello"
              steer a#1 [s1 "hello"]
              c2: s1 now
            > expire a "hello"
            > settle a ok "done"
              fact settled a#1 completed "done" unread [s2 "hello"]
                = a:completed/held
            > expire a "after the end"
            > read a
              c3: a#1 completed "done" unread [s2 "hello"]
        "#]],
    );
}

#[test]
fn steers_of_a_run_stopped_in_the_queue_are_in_the_completion() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            steer b "hello"
            stop b by=parent
        "#,
        &expect![[r#"
            > open s max=1
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg
              fact spawned b#1
              c2: b#1 @explore-2 queued at 1
                = a:running b:queued(1)
            > steer b "hello"
              c3: s1 queued
            > stop b by=parent
              fact stopped b#1 by parent
              fact settled b#1 stopped by parent unread [s1 "hello"]
              c4: stop: [b stopped]
                = a:running b:stopped/held
        "#]],
    );
}
