//! Runs of one turn are reported together.

use expect_test::expect;

use super::check;

#[test]
fn both_of_a_turn_are_one_announcement_and_one_wake() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            over s 1
            settle a ok
            +5s
            settle b ok
            +200ms
            drain s idle
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running
            > +5s
            > settle b ok
              fact settled b#1 completed
                = a:completed/held b:completed/held
            > +200ms
              after 200 ms
              row a
              row b
              announce [a#1, b#1] group s/1
              wake s
                = a:completed/pending b:completed/pending
            > drain s idle
              c3: b1 [a#1, b#1]
        "#]],
    );
}

#[test]
fn who_never_ends_is_not_waited_for_longer_than_the_join() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            over s 1
            settle a ok
            +31s
            drain s idle
            delivered b1
            settle b ok
            +1s
            drain s idle
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running
            > +31s
              after 200 ms
              row a
              announce [a#1] group s/1 partial
              wake s
                = a:completed/pending b:running
            > drain s idle
              c3: b1 [a#1] partial
            > delivered b1
              fact delivered a#1
              row a
                = a:completed/delivered b:running
            > settle b ok
              fact settled b#1 completed
                = a:completed/delivered b:completed/held
            > +1s
              after 200 ms
              row b
              announce [b#1] group s/1
              wake s
                = a:completed/delivered b:completed/pending
            > drain s idle
              c4: b2 [b#1]
        "#]],
    );
}

#[test]
fn stragglers_are_waited_for_half_as_long() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            spawn c explore bg turn=1
            over s 1
            settle a ok
            +31s
            settle b ok
            +20s
            settle c ok
            +1s
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > spawn c explore bg turn=1
              fact spawned c#1
              fact started c#1
              start c#1 "do c"
              c3: c#1 @explore-3 running
                = a:running b:running c:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running c:running
            > +31s
              after 200 ms
              row a
              announce [a#1] group s/1 partial
              wake s
                = a:completed/pending b:running c:running
            > settle b ok
              fact settled b#1 completed
                = a:completed/pending b:completed/held c:running
            > +20s
              after 200 ms
              row b
              announce [b#1] group s/1 partial
              wake s
                = a:completed/pending b:completed/pending c:running
            > settle c ok
              fact settled c#1 completed
                = a:completed/pending b:completed/pending c:completed/held
            > +1s
              after 200 ms
              row c
              announce [c#1] group s/1
              wake s
                = a:completed/pending b:completed/pending c:completed/pending
        "#]],
    );
}

#[test]
fn stragglers_that_all_come_are_not_partial() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            spawn c explore bg turn=1
            over s 1
            settle a ok
            +31s
            settle b ok
            settle c ok
            +200ms
            drain s idle
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > spawn c explore bg turn=1
              fact spawned c#1
              fact started c#1
              start c#1 "do c"
              c3: c#1 @explore-3 running
                = a:running b:running c:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running c:running
            > +31s
              after 200 ms
              row a
              announce [a#1] group s/1 partial
              wake s
                = a:completed/pending b:running c:running
            > settle b ok
              fact settled b#1 completed
                = a:completed/pending b:completed/held c:running
            > settle c ok
              fact settled c#1 completed
                = a:completed/pending b:completed/held c:completed/held
            > +200ms
              after 200 ms
              row b
              row c
              announce [b#1, c#1] group s/1
              wake s
                = a:completed/pending b:completed/pending c:completed/pending
            > drain s idle
              c4: b1 [a#1, b#1, c#1]
        "#]],
    );
}

#[test]
fn a_member_read_while_held_is_only_announced() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            over s 1
            settle a ok
            read a consume
            settle b ok
            +200ms
            drain s idle
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running
            > read a consume
              fact consumed a#1
              row a
              c3: a#1 completed
                = a:completed/consumed b:running
            > settle b ok
              fact settled b#1 completed
                = a:completed/consumed b:completed/held
            > +200ms
              after 200 ms
              row b
              announce [a#1, b#1] group s/1
              wake s
                = a:completed/consumed b:completed/pending
            > drain s idle
              c4: b1 [b#1]
        "#]],
    );
}

#[test]
fn a_group_that_was_read_whole_wakes_nobody() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            over s 1
            settle a ok
            settle b ok
            read a consume
            read b consume
            +200ms
            drain s idle
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running
            > settle b ok
              fact settled b#1 completed
                = a:completed/held b:completed/held
            > read a consume
              fact consumed a#1
              row a
              c3: a#1 completed
                = a:completed/consumed b:completed/held
            > read b consume
              fact consumed b#1
              row b
              c4: b#1 completed
                = a:completed/consumed b:completed/consumed
            > +200ms
              after 200 ms
              announce [a#1, b#1] group s/1
            > drain s idle
              c5: nothing
        "#]],
    );
}

#[test]
fn a_member_that_ended_before_the_turn_did_is_in_the_group() {
    check(
        "
            open s
            spawn a explore bg turn=1
            settle a ok
            spawn b explore bg turn=1
            +1s
            over s 1
            settle b ok
            +200ms
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:completed/held b:running
            > +1s
            > over s 1
            > settle b ok
              fact settled b#1 completed
                = a:completed/held b:completed/held
            > +200ms
              after 200 ms
              row a
              row b
              announce [a#1, b#1] group s/1
              wake s
                = a:completed/pending b:completed/pending
        "#]],
    );
}

#[test]
fn a_member_stopped_in_the_queue_holds_nobody_up() {
    check(
        "
            open s max=1
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            over s 1
            stop b by=user
            settle a ok
            +200ms
            drain s idle
        ",
        &expect![[r#"
            > open s max=1
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              c2: b#1 @explore-2 queued at 1
                = a:running b:queued(1)
            > over s 1
            > stop b by=user
              fact stopped b#1 by user
              fact settled b#1 stopped by user
              c3: stop: [b stopped]
                = a:running b:stopped/held
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:stopped/held
            > +200ms
              after 200 ms
              row a
              row b
              announce [b#1, a#1] group s/1
              wake s
                = a:completed/pending b:stopped/pending
            > drain s idle
              c4: b1 [b#1, a#1]
        "#]],
    );
}

#[test]
fn without_joining_each_run_is_reported_alone() {
    check(
        "
            open s async
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            over s 1
            settle a ok
            +200ms
            settle b ok
            +200ms
        ",
        &expect![[r#"
            > open s async
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending b:running
            > settle b ok
              fact settled b#1 completed
                = a:completed/pending b:completed/held
            > +200ms
              after 200 ms
              row b
              announce [b#1]
              wake s
                = a:completed/pending b:completed/pending
        "#]],
    );
}

#[test]
fn a_turn_with_one_launch_is_no_group() {
    check(
        "
            open s
            spawn a explore bg turn=1
            over s 1
            settle a ok
            +200ms
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > over s 1
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
fn launches_of_different_turns_are_different_groups() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            over s 1
            spawn c explore bg turn=2
            over s 2
            settle a ok
            settle c ok
            +200ms
            settle b ok
            +200ms
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > over s 1
            > spawn c explore bg turn=2
              fact spawned c#1
              fact started c#1
              start c#1 "do c"
              c3: c#1 @explore-3 running
                = a:running b:running c:running
            > over s 2
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running c:running
            > settle c ok
              fact settled c#1 completed
                = a:completed/held b:running c:completed/held
            > +200ms
              after 200 ms
              row c
              announce [c#1]
              wake s
                = a:completed/held b:running c:completed/pending
            > settle b ok
              fact settled b#1 completed
                = a:completed/held b:completed/held c:completed/pending
            > +200ms
              after 200 ms
              row a
              row b
              announce [a#1, b#1] group s/1
              wake s
                = a:completed/pending b:completed/pending c:completed/pending
        "#]],
    );
}

#[test]
fn a_lone_launch_waits_for_its_turn_to_end_but_not_for_ever() {
    check(
        "
            open s
            spawn a explore bg turn=1
            settle a ok
            +29s
            +2s
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > +29s
            > +2s
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
        "#]],
    );
}

#[test]
fn a_drain_means_that_the_turn_is_over() {
    check(
        "
            open s
            spawn a explore bg turn=1
            settle a ok
            drain s
            +200ms
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > drain s
              c2: nothing
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
fn a_persons_run_of_the_same_turn_stays_out_of_the_group() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn p explore bg turn=1 by=person
            over s 1
            settle a ok
            +200ms
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn p explore bg turn=1 by=person
              fact spawned p#1
              fact started p#1
              start p#1 "do p"
              c2: p#1 @explore-2 running
                = a:running p:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held p:running
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending p:running
        "#]],
    );
}

#[test]
fn a_batch_is_partial_only_while_members_live() {
    check(
        "
            open s join=1s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            over s 1
            settle a ok
            +1200ms
            drain s idle
            returned b1
            settle b ok
            drain s idle
        ",
        &expect![[r#"
            > open s join=1s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg turn=1
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running
            > +1200ms
              after 200 ms
              row a
              announce [a#1] group s/1 partial
              wake s
                = a:completed/pending b:running
            > drain s idle
              c3: b1 [a#1] partial
            > returned b1
              wake s
            > settle b ok
              fact settled b#1 completed
                = a:completed/pending b:completed/held
            > drain s idle
              c4: b2 [a#1]
        "#]],
    );
}

#[test]
fn a_foreground_run_of_the_turn_stays_out_of_the_group() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn f explore turn=1
            over s 1
            settle a ok
            +200ms
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg turn=1
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn f explore turn=1
              fact spawned f#1
              fact started f#1
              start f#1 "do f"
              c2: f#1 @explore-2 running
                = a:running f:running
            > over s 1
            > settle a ok
              fact settled a#1 completed
                = a:completed/held f:running
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending f:running
        "#]],
    );
}

#[test]
fn a_resume_joins_the_group_of_its_turn() {
    check(
        "
            open s
            spawn a explore bg
            settle a ok
            +200ms
            drain s
            delivered b1
            resume a bg turn=4
            spawn b explore bg turn=4
            over s 4
            settle b ok
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
            > settle a ok
              fact settled a#1 completed
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
            > resume a bg turn=4
              fact resumed a#2
              fact started a#2
              start a#2 "a"
              c3: a#2 @explore running
                = a#2:running
            > spawn b explore bg turn=4
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c4: b#1 @explore-2 running
                = a#2:running b:running
            > over s 4
            > settle b ok
              fact settled b#1 completed
                = a#2:running b:completed/held
            > settle a ok
              fact settled a#2 completed
                = a#2:completed/held b:completed/held
            > +200ms
              after 200 ms
              row a
              row b
              announce [b#1, a#2] group s/4
              wake s
                = a#2:completed/pending b:completed/pending
        "#]],
    );
}
