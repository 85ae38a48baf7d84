//! Reading results and waiting for them.

use expect_test::expect;

use super::check;

#[test]
fn unknown_agents_and_runs_are_refused() {
    check(
        "
            open s
            read x
            await x consume
            spawn a explore bg
            read a#2 consume
            await a#2
        ",
        &expect![[r#"
            > open s
            > read x
              c1: refused: unknown agent x
            > await x consume
              c2: refused: unknown agent x
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c3: a#1 @explore running
                = a:running
            > read a#2 consume
              c4: refused: unknown run a#2
            > await a#2
              c5: refused: unknown run a#2
        "#]],
    );
}

#[test]
fn a_queued_run_says_its_place() {
    check(
        "
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn c explore bg
            read c consume
        ",
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
            > spawn c explore bg
              fact spawned c#1
              c3: c#1 @explore-3 queued at 2
                = a:running b:queued(1) c:queued(2)
            > read c consume
              c4: c#1 queued at 2
        "#]],
    );
}

#[test]
fn a_queued_run_can_be_awaited() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            await b consume
            settle a ok
            settle b ok "found"
            +1s
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
            > await b consume
            > settle a ok
              fact settled a#1 completed
              fact started b#1
              start b#1 "do b"
                = a:completed/held b:running
            > settle b ok "found"
              fact settled b#1 completed "found"
              fact consumed b#1
              c3: b#1 completed "found"
                = a:completed/held b:completed/consumed
            > +1s
              after 200 ms
              row a
              announce [a#1]
              announce [b#1]
              wake s
                = a:completed/pending b:completed/consumed
        "#]],
    );
}

#[test]
fn a_wait_that_is_given_up_leaves_the_run_alone() {
    check(
        r#"
            open s
            spawn a explore bg
            await a consume
            gone c2
            settle a ok "found"
            +200ms
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > await a consume
            > gone c2
            > settle a ok "found"
              fact settled a#1 completed "found"
                = a:completed/held
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
        "#]],
    );
}

#[test]
fn a_settled_run_is_read_twice_the_same() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            read a consume
            read a consume
            await a consume
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok "found"
              fact settled a#1 completed "found"
                = a:completed/held
            > read a consume
              fact consumed a#1
              row a
              c2: a#1 completed "found"
                = a:completed/consumed
            > read a consume
              c3: a#1 completed "found"
            > await a consume
              c4: a#1 completed "found"
        "#]],
    );
}

#[test]
fn a_live_run_is_read_without_consuming_it() {
    check(
        "
            open s
            spawn a explore bg
            read a consume
            settle a ok
            +200ms
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > read a consume
              c2: a#1 running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
        "#]],
    );
}

#[test]
fn a_stopping_run_is_waited_for_and_never_read_empty() {
    check(
        r#"
            open s
            spawn a explore bg
            stop a by=user
            read a consume
            await a consume
            settle a stopped "half"
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
            > read a consume
              c3: a#1 stopping
            > await a consume
            > settle a stopped "half"
              fact settled a#1 stopped by user "half"
              fact consumed a#1
              c4: a#1 stopped by user "half"
                = a:stopped/consumed
        "#]],
    );
}

#[test]
fn several_callers_are_answered_each_once() {
    check(
        r#"
            open s
            spawn a explore bg
            await a
            await a consume
            await a
            gone c3
            settle a ok "found"
            gone c2
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > await a
            > await a consume
            > await a
            > gone c3
            > settle a ok "found"
              fact settled a#1 completed "found"
              c2: a#1 completed "found"
              c4: a#1 completed "found"
                = a:completed/held
            > gone c2
        "#]],
    );
}

#[test]
fn a_callers_number_is_used_once() {
    check(
        "
            open s
            spawn a explore bg
            gone c9
            gone c1
            settle a ok
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > gone c9
            > gone c1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
        "#]],
    );
}
