//! Time: wall clocks, and what does not move them.

use expect_test::expect;

use super::check;

#[test]
fn a_run_past_its_time_is_aborted_with_its_partial_text() {
    check(
        r#"
            open s wall=5s
            spawn a explore bg
            start a
            +5s
            settle a stopped "half"
        "#,
        &expect![[r#"
            > open s wall=5s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > start a
            > +5s
              after 5000 ms
              fact stopped a#1 by limit
              cancel a#1 by limit (WallClock)
                = a:stopping
            > settle a stopped "half"
              fact settled a#1 aborted by limit (WallClock) "half"
                = a:aborted/held
        "#]],
    );
}

#[test]
fn a_run_past_its_time_that_hangs_is_cut_off() {
    check(
        "
            open s wall=5s max=1
            spawn a explore bg
            spawn b explore bg
            +9s
        ",
        &expect![[r#"
            > open s wall=5s max=1
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
            > +9s
              after 5000 ms
              fact stopped a#1 by limit
              cancel a#1 by limit (WallClock)
              after 3000 ms
              detach a#1
              fact settled a#1 aborted by limit (WallClock) error "it did not end within 3 s of being stopped and was cut off"
              fact started b#1
              start b#1 "do b"
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:aborted/pending b:running
        "#]],
    );
}

#[test]
fn a_run_past_its_time_takes_its_children_along() {
    check(
        "
            open s wall=5s
            spawn a explore bg
            +1s
            spawn n explore bg parent=a
            +4s
        ",
        &expect![[r#"
            > open s wall=5s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > +1s
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > +4s
              after 4000 ms
              fact stopped a#1 by limit
              cancel a#1 by limit (WallClock)
              fact stopped n#1 by parent
              cancel n#1 by parent
                = a:stopping n:stopping
        "#]],
    );
}

#[test]
fn the_clock_stands_still_while_a_person_is_asked() {
    check(
        "
            open s wall=5s
            spawn a explore bg
            +4s
            progress a waiting=approval
            +60s
            progress a waiting=tool
            +999ms
            +1ms
        ",
        &expect![[r#"
            > open s wall=5s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > +4s
            > progress a waiting=approval
              row a
                = a:running(Approval)
            > +60s
            > progress a waiting=tool
              row a
                = a:running(Tool)
            > +999ms
            > +1ms
              after 1 ms
              fact stopped a#1 by limit
              cancel a#1 by limit (WallClock)
                = a:stopping
        "#]],
    );
}

#[test]
fn time_in_the_queue_does_not_count() {
    check(
        "
            open s wall=5s max=1
            spawn a explore bg
            spawn b explore bg
            +4s
            settle a ok
            +4s
            settle b ok
        ",
        &expect![[r#"
            > open s wall=5s max=1
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
            > +4s
            > settle a ok
              fact settled a#1 completed
              fact started b#1
              start b#1 "do b"
                = a:completed/held b:running
            > +4s
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending b:running
            > settle b ok
              fact settled b#1 completed
                = a:completed/pending b:completed/held
        "#]],
    );
}

#[test]
fn a_sample_that_says_nothing_new_changes_nothing() {
    check(
        "
            open s
            spawn a explore bg
            start a
            start a
            progress a tools=1
            progress a tools=1
            progress a#7 tools=2
            progress x tools=2
            settle a ok
            progress a tools=3
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > start a
            > start a
            > progress a tools=1
              row a
            > progress a tools=1
            > progress a#7 tools=2
            > progress x tools=2
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > progress a tools=3
        "#]],
    );
}

#[test]
fn a_tick_without_a_deadline_is_nothing() {
    check(
        "
            open s
            +1s
        ",
        &expect![[r#"
            > open s
            > +1s
        "#]],
    );
}
