//! Another run of a settled agent.

use expect_test::expect;

use super::check;

#[test]
fn a_resumed_run_has_its_own_start_end_and_news() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "first"
            +200ms
            drain s
            delivered b1
            resume a bg "go on"
            start a
            settle a ok "second"
            +200ms
            drain s
            delivered b2
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok "first"
              fact settled a#1 completed "first"
                = a:completed/held
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
            > drain s
              c2: b1 [a#1]
            > delivered b1
              fact delivered a#1
              row a
                = a:completed/delivered
            > resume a bg "go on"
              fact resumed a#2
              fact started a#2
              start a#2 "go on"
              c3: a#2 @explore running
                = a#2:running
            > start a
            > settle a ok "second"
              fact settled a#2 completed "second"
                = a#2:completed/held
            > +200ms
              after 200 ms
              row a
              announce [a#2]
              wake s
                = a#2:completed/pending
            > drain s
              c4: b2 [a#2]
            > delivered b2
              fact delivered a#2
              row a
                = a#2:completed/delivered
        "#]],
    );
}

#[test]
fn a_resume_waits_for_a_permit_as_a_spawn_does() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            settle a ok
            spawn b explore bg
            resume a bg "go on"
            settle b ok
        "#,
        &expect![[r#"
            > open s max=1
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > spawn b explore bg
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:completed/held b:running
            > resume a bg "go on"
              fact resumed a#2
              c3: a#2 @explore queued at 1
                = a#2:queued(1) b:running
            > settle b ok
              fact settled b#1 completed
              fact started a#2
              start a#2 "go on"
                = a#2:running b:completed/held
        "#]],
    );
}

#[test]
fn a_live_run_is_not_resumed() {
    check(
        "
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn n explore bg parent=a
            resume a bg
            resume b
            resume x
            stop a by=user
            resume a bg
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
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c3: n#1 @explore-3 running
                = a:running b:queued(1) n:running
            > resume a bg
              c4: refused: a is still running
            > resume b
              c5: refused: b is still queued
            > resume x
              c6: refused: unknown agent x
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              fact stopped n#1 by user
              cancel n#1 by user
              c7: stop: [a stopping, n stopping]
                = a:stopping b:queued(1) n:stopping
            > resume a bg
              c8: refused: a is still stopping
        "#]],
    );
}

#[test]
fn a_late_end_of_an_earlier_run_is_ignored() {
    check(
        r#"
            open s
            spawn a explore bg
            stop a by=user
            +3s
            resume a bg "again"
            settle a#1 ok "old"
            progress a#1 tools=9
            start a#1
            expire a#1 "old"
            settle a ok "new"
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
            > +3s
              after 3000 ms
              detach a#1
              fact settled a#1 stopped by user (Detached) error "it did not end within 3 s of being stopped and was cut off"
                = a:stopped/held
            > resume a bg "again"
              fact resumed a#2
              fact started a#2
              start a#2 "again"
              c3: a#2 @explore running
                = a#2:running
            > settle a#1 ok "old"
            > progress a#1 tools=9
            > start a#1
            > expire a#1 "old"
            > settle a ok "new"
              fact settled a#2 completed "new"
                = a#2:completed/held
        "#]],
    );
}

#[test]
fn held_news_of_the_earlier_run_keeps_its_snapshot() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "first"
            resume a bg "go on"
            +200ms
            drain s idle
            settle a ok "second"
            delivered b1
            +200ms
            drain s idle
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok "first"
              fact settled a#1 completed "first"
                = a:completed/held
            > resume a bg "go on"
              fact resumed a#2
              fact started a#2
              start a#2 "go on"
              c2: a#2 @explore running
                = a#2:running
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
            > drain s idle
              c3: b1 [a#1]
            > settle a ok "second"
              fact settled a#2 completed "second"
                = a#2:completed/held
            > delivered b1
              fact delivered a#1
              row a
            > +200ms
              after 200 ms
              row a
              announce [a#2]
              wake s
                = a#2:completed/pending
            > drain s idle
              c4: b2 [a#2]
        "#]],
    );
}

#[test]
fn consumption_is_of_one_run() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "first"
            resume a bg "go on"
            read a#1 consume
            +200ms
            settle a err
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
            > settle a ok "first"
              fact settled a#1 completed "first"
                = a:completed/held
            > resume a bg "go on"
              fact resumed a#2
              fact started a#2
              start a#2 "go on"
              c2: a#2 @explore running
                = a#2:running
            > read a#1 consume
              fact consumed a#1
              row a
              c3: a#1 completed "first"
            > +200ms
              after 200 ms
              announce [a#1]
            > settle a err
              fact settled a#2 error (Provider) error "it broke"
                = a#2:error/held
            > +200ms
              after 200 ms
              row a
              announce [a#2]
              wake s
                = a#2:error/pending
        "#]],
    );
}

#[test]
fn of_two_resumes_one_wins() {
    check(
        "
            open s
            spawn a explore bg
            settle a ok
            resume a bg
            resume a bg
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > resume a bg
              fact resumed a#2
              fact started a#2
              start a#2 "a"
              c2: a#2 @explore running
                = a#2:running
            > resume a bg
              c3: refused: a is still running
        "#]],
    );
}

#[test]
fn a_foreground_resume_takes_no_place_and_ends_with_its_call() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            settle a ok "first"
            spawn b explore bg
            resume a "go on"
            await a consume
            gone c4
            settle a stopped "half"
            read a#1
        "#,
        &expect![[r#"
            > open s max=1
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok "first"
              fact settled a#1 completed "first"
                = a:completed/held
            > spawn b explore bg
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:completed/held b:running
            > resume a "go on"
              fact resumed a#2
              fact started a#2
              start a#2 "go on"
              c3: a#2 @explore running
                = a#2:running b:running
            > await a consume
            > gone c4
              fact stopped a#2 by parent
              cancel a#2 by parent
                = a#2:stopping b:running
            > settle a stopped "half"
              fact settled a#2 stopped by parent "half"
                = a#2:stopped b:running
            > read a#1
              c5: a#1 completed "first"
        "#]],
    );
}

#[test]
fn a_failed_resume_does_not_show_the_earlier_answer() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "first"
            resume a bg
            settle a err
            read a
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok "first"
              fact settled a#1 completed "first"
                = a:completed/held
            > resume a bg
              fact resumed a#2
              fact started a#2
              start a#2 "a"
              c2: a#2 @explore running
                = a#2:running
            > settle a err
              fact settled a#2 error (Provider) error "it broke"
                = a#2:error/held
            > read a
              c3: a#2 error (Provider) error "it broke"
        "#]],
    );
}

#[test]
fn a_resume_counts_against_the_limits() {
    check(
        "
            open s descendants=1
            spawn a explore bg
            settle a ok
            spawn b explore bg
            resume a bg
        ",
        &expect![[r#"
            > open s descendants=1
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > spawn b explore bg
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:completed/held b:running
            > resume a bg
              c3: refused: more than 1
        "#]],
    );
}

#[test]
fn a_closed_session_resumes_nothing() {
    check(
        "
            open s
            spawn a explore bg
            spawn b explore bg
            settle a ok
            close s
            resume a bg
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running
            > close s
              fact stopped b#1 by parent
              cancel b#1 by parent
              row a
              announce [a#1]
                = a:completed/pending b:stopping
            > resume a bg
              c3: refused: unknown session s
        "#]],
    );
}
