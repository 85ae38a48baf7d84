//! Ending runs from outside.

use expect_test::expect;

use super::check;

#[test]
fn a_stop_is_answered_at_once_and_keeps_the_partial_text() {
    check(
        r#"
            open s
            spawn a explore bg
            stop a by=user
            progress a tools=2
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
            > progress a tools=2
              row a
            > settle a stopped "half"
              fact settled a#1 stopped by user "half"
                = a:stopped/held
        "#]],
    );
}

#[test]
fn the_first_to_stop_is_the_stopper_and_a_stop_is_idempotent() {
    check(
        r#"
            open s
            spawn a explore bg
            stop a by=user
            stop a by=parent
            settle a ok "whole"
            stop a by=parent
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
            > stop a by=parent
              c3: stop: [a stopping]
            > settle a ok "whole"
              fact settled a#1 stopped by user "whole"
                = a:stopped/held
            > stop a by=parent
              c4: stop: [a stopped]
        "#]],
    );
}

#[test]
fn an_end_after_a_stop_is_a_stop_whatever_it_brings() {
    check(
        r#"
            open s
            spawn a explore bg
            spawn b explore bg
            stop a by=user
            stop b by=parent
            settle a err "half"
            settle b ok "whole"
        "#,
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
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              c3: stop: [a stopping]
                = a:stopping b:running
            > stop b by=parent
              fact stopped b#1 by parent
              cancel b#1 by parent
              c4: stop: [b stopping]
                = a:stopping b:stopping
            > settle a err "half"
              fact settled a#1 stopped by user "half" error "it broke"
                = a:stopped/held b:stopping
            > settle b ok "whole"
              fact settled b#1 stopped by parent "whole"
                = a:stopped/held b:stopped/held
        "#]],
    );
}

#[test]
fn a_run_that_hangs_is_detached_and_its_late_end_ignored() {
    check(
        r#"
            open s
            spawn a explore bg
            await a consume
            stop a by=user
            +3s
            settle a ok "late"
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
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              c3: stop: [a stopping]
                = a:stopping
            > +3s
              after 3000 ms
              detach a#1
              fact settled a#1 stopped by user (Detached) error "it did not end within 3 s of being stopped and was cut off"
              fact consumed a#1
              c2: a#1 stopped by user (Detached) error "it did not end within 3 s of being stopped and was cut off"
                = a:stopped/consumed
            > settle a ok "late"
        "#]],
    );
}

#[test]
fn an_end_that_is_heard_late_is_still_an_end() {
    check(
        r#"
            open s
            spawn a explore bg
            stop a by=user
            +2999ms
            settle a stopped "half"
            +1s
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
            > +2999ms
            > settle a stopped "half"
              fact settled a#1 stopped by user "half"
                = a:stopped/held
            > +1s
              after 200 ms
              row a
              announce [a#1]
                = a:stopped/pending
        "#]],
    );
}

#[test]
fn stop_all_reaches_everything_of_a_session() {
    check(
        "
            open s max=1
            open t
            spawn a explore bg
            spawn b explore bg
            spawn f explore
            spawn c explore bg in=t
            stopall s
            stopall x
            stopall
        ",
        &expect![[r#"
            > open s max=1
            > open t
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
            > spawn f explore
              fact spawned f#1
              fact started f#1
              start f#1 "do f"
              c3: f#1 @explore-3 running
                = a:running b:queued(1) f:running
            > spawn c explore bg in=t
              fact spawned c#1
              fact started c#1
              start c#1 "do c"
              c4: c#1 @explore running
                = a:running b:queued(1) f:running c:running
            > stopall s
              fact stopped a#1 by user
              cancel a#1 by user
              fact stopped b#1 by user
              fact settled b#1 stopped by user
              fact stopped f#1 by user
              cancel f#1 by user
              c5: stop: [a stopping, b stopped, f stopping]
                = a:stopping b:stopped/held f:stopping c:running
            > stopall x
              c6: refused: unknown session x
            > stopall
              fact stopped c#1 by user
              cancel c#1 by user
              c7: stop: [a stopping, f stopping, c stopping]
                = a:stopping b:stopped/held f:stopping c:stopping
        "#]],
    );
}

#[test]
fn a_foreground_run_ends_with_its_call() {
    check(
        r#"
            open s
            spawn f explore
            await f consume
            spawn n explore bg parent=f
            gone c2
            settle f stopped "half"
        "#,
        &expect![[r#"
            > open s
            > spawn f explore
              fact spawned f#1
              fact started f#1
              start f#1 "do f"
              c1: f#1 @explore running
                = f:running
            > await f consume
            > spawn n explore bg parent=f
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c3: n#1 @explore-2 running
                = f:running n:running
            > gone c2
              fact stopped f#1 by parent
              cancel f#1 by parent
              fact stopped n#1 by parent
              cancel n#1 by parent
                = f:stopping n:stopping
            > settle f stopped "half"
              fact settled f#1 stopped by parent "half"
                = f:stopped n:stopping
        "#]],
    );
}

#[test]
fn only_the_call_that_a_foreground_run_lives_by_ends_it() {
    check(
        "
            open s
            spawn f explore
            await f consume
            await f
            gone c3
            gone c2
        ",
        &expect![[r#"
            > open s
            > spawn f explore
              fact spawned f#1
              fact started f#1
              start f#1 "do f"
              c1: f#1 @explore running
                = f:running
            > await f consume
            > await f
            > gone c3
            > gone c2
              fact stopped f#1 by parent
              cancel f#1 by parent
                = f:stopping
        "#]],
    );
}

#[test]
fn a_persons_foreground_run_outlives_who_waits_for_it() {
    check(
        "
            open s
            spawn f explore by=person
            await f
            gone c2
            settle f ok
        ",
        &expect![[r#"
            > open s
            > spawn f explore by=person
              fact spawned f#1
              fact started f#1
              start f#1 "do f"
              c1: f#1 @explore running
                = f:running
            > await f
            > gone c2
            > settle f ok
              fact settled f#1 completed
                = f:completed
        "#]],
    );
}

#[test]
fn an_unknown_agent_cannot_be_stopped() {
    check(
        "
            open s
            stop x by=user
        ",
        &expect![[r#"
            > open s
            > stop x by=user
              c1: refused: unknown agent x
        "#]],
    );
}

#[test]
fn one_stops_the_agent_and_its_children_follow_when_it_has_ended() {
    check(
        "
            open s
            spawn a explore bg
            spawn n explore bg parent=a
            stop a by=user one
            settle a stopped
            settle n stopped
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > stop a by=user one
              fact stopped a#1 by user
              cancel a#1 by user
              c3: stop: [a stopping]
                = a:stopping n:running
            > settle a stopped
              fact settled a#1 stopped by user
              fact stopped n#1 by parent
              cancel n#1 by parent
                = a:stopped/held n:stopping
            > settle n stopped
              fact settled n#1 stopped by parent
                = a:stopped/held n:stopped/held
        "#]],
    );
}

#[test]
fn a_subtree_stops_at_once_by_the_same_stopper() {
    check(
        "
            open s depth=3
            spawn a explore bg
            spawn n explore bg parent=a
            spawn m explore parent=n
            stop a by=user
        ",
        &expect![[r#"
            > open s depth=3
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > spawn m explore parent=n
              fact spawned m#1
              fact started m#1
              start m#1 "do m"
              c3: m#1 @explore-3 running
                = a:running n:running m:running
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              fact stopped n#1 by user
              cancel n#1 by user
              fact stopped m#1 by user
              cancel m#1 by user
              c4: stop: [a stopping, n stopping, m stopping]
                = a:stopping n:stopping m:stopping
        "#]],
    );
}

#[test]
fn an_owner_that_hangs_does_not_keep_its_children() {
    check(
        "
            open s
            spawn a explore bg
            spawn n explore bg parent=a
            stop a by=user
            settle n stopped
            +3s
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              fact stopped n#1 by user
              cancel n#1 by user
              c3: stop: [a stopping, n stopping]
                = a:stopping n:stopping
            > settle n stopped
              fact settled n#1 stopped by user
                = a:stopping n:stopped/held
            > +3s
              after 200 ms
              row n
              announce [n#1]
              after 2800 ms
              detach a#1
              fact settled a#1 stopped by user (Detached) error "it did not end within 3 s of being stopped and was cut off"
                = a:stopped/held n:stopped/pending
        "#]],
    );
}
