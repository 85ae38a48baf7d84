//! Who runs, who waits, and for how long.

use expect_test::expect;

use super::check;

#[test]
fn a_full_pool_queues_and_says_where() {
    check(
        "
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn c plan bg
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
            > spawn c plan bg
              fact spawned c#1
              c3: c#1 @plan queued at 2
                = a:running b:queued(1) c:queued(2)
        "#]],
    );
}

#[test]
fn the_queue_is_served_first_come_first_served() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn c explore bg
            settle a ok "done"
            settle b ok "done"
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
            > spawn c explore bg
              fact spawned c#1
              c3: c#1 @explore-3 queued at 2
                = a:running b:queued(1) c:queued(2)
            > settle a ok "done"
              fact settled a#1 completed "done"
              fact started b#1
              start b#1 "do b"
                = a:completed/held b:running c:queued(1)
            > settle b ok "done"
              fact settled b#1 completed "done"
              fact started c#1
              start c#1 "do c"
                = a:completed/held b:completed/held c:running
        "#]],
    );
}

#[test]
fn foreground_and_nested_runs_never_wait() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn f explore
            spawn n explore bg parent=a
            settle f ok "done"
            settle n ok "done"
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
            > spawn f explore
              fact spawned f#1
              fact started f#1
              start f#1 "do f"
              c3: f#1 @explore-3 running
                = a:running b:queued(1) f:running
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c4: n#1 @explore-4 running
                = a:running b:queued(1) f:running n:running
            > settle f ok "done"
              fact settled f#1 completed "done"
                = a:running b:queued(1) f:completed n:running
            > settle n ok "done"
              fact settled n#1 completed "done"
                = a:running b:queued(1) f:completed n:completed/held
        "#]],
    );
}

#[test]
fn a_permit_is_free_once_however_a_run_ends() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn c explore bg
            spawn d explore bg
            settle a err
            settle b panic
            stop c by=user
            settle c stopped "half"
            settle c ok "late"
            settle a ok "again"
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
            > spawn c explore bg
              fact spawned c#1
              c3: c#1 @explore-3 queued at 2
                = a:running b:queued(1) c:queued(2)
            > spawn d explore bg
              fact spawned d#1
              c4: d#1 @explore-4 queued at 3
                = a:running b:queued(1) c:queued(2) d:queued(3)
            > settle a err
              fact settled a#1 error (Provider) error "it broke"
              fact started b#1
              start b#1 "do b"
                = a:error/held b:running c:queued(1) d:queued(2)
            > settle b panic
              fact settled b#1 error (Panic) error "it broke"
              fact started c#1
              start c#1 "do c"
                = a:error/held b:error/held c:running d:queued(1)
            > stop c by=user
              fact stopped c#1 by user
              cancel c#1 by user
              c5: stop: [c stopping]
                = a:error/held b:error/held c:stopping d:queued(1)
            > settle c stopped "half"
              fact settled c#1 stopped by user "half"
              fact started d#1
              start d#1 "do d"
                = a:error/held b:error/held c:stopped/held d:running
            > settle c ok "late"
            > settle a ok "again"
        "#]],
    );
}

#[test]
fn a_stopped_run_keeps_its_permit_until_it_has_ended() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            stop a by=user
            +2s
            settle a stopped "half"
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
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              c3: stop: [a stopping]
                = a:stopping b:queued(1)
            > +2s
            > settle a stopped "half"
              fact settled a#1 stopped by user "half"
              fact started b#1
              start b#1 "do b"
                = a:stopped/held b:running
        "#]],
    );
}

#[test]
fn a_run_that_cannot_be_stopped_loses_its_permit_after_the_grace() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            stop a by=user
            +3s
            settle a ok "too late"
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
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              c3: stop: [a stopping]
                = a:stopping b:queued(1)
            > +3s
              after 3000 ms
              detach a#1
              fact settled a#1 stopped by user (Detached) error "it did not end within 3 s of being stopped and was cut off"
              fact started b#1
              start b#1 "do b"
                = a:stopped/held b:running
            > settle a ok "too late"
        "#]],
    );
}

#[test]
fn a_raised_limit_starts_queued_runs_and_a_lowered_one_stops_nobody() {
    check(
        "
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn c explore bg
            limits s max=3
            limits s max=1
            spawn d explore bg
            settle a ok
            settle b ok
            settle c ok
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
            > limits s max=3
              fact started b#1
              start b#1 "do b"
              fact started c#1
              start c#1 "do c"
                = a:running b:running c:running
            > limits s max=1
            > spawn d explore bg
              fact spawned d#1
              c4: d#1 @explore-4 queued at 1
                = a:running b:running c:running d:queued(1)
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running c:running d:queued(1)
            > settle b ok
              fact settled b#1 completed
                = a:completed/held b:completed/held c:running d:queued(1)
            > settle c ok
              fact settled c#1 completed
              fact started d#1
              start d#1 "do d"
                = a:completed/held b:completed/held c:completed/held d:running
        "#]],
    );
}

#[test]
fn a_queued_run_that_fails_to_start_lets_the_next_one_in() {
    check(
        "
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn c explore bg
            settle a ok
            settle b setup
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
            > settle a ok
              fact settled a#1 completed
              fact started b#1
              start b#1 "do b"
                = a:completed/held b:running c:queued(1)
            > settle b setup
              fact settled b#1 error (Setup) error "it broke"
              fact started c#1
              start c#1 "do c"
                = a:completed/held b:error/held c:running
        "#]],
    );
}

#[test]
fn a_run_stopped_in_the_queue_settles_like_any_other() {
    check(
        "
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn c explore bg
            stop b by=user
            read b
            settle a ok
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
            > stop b by=user
              fact stopped b#1 by user
              fact settled b#1 stopped by user
              c4: stop: [b stopped]
                = a:running b:stopped/held c:queued(1)
            > read b
              c5: b#1 stopped by user
            > settle a ok
              fact settled a#1 completed
              fact started c#1
              start c#1 "do c"
                = a:completed/held b:stopped/held c:running
        "#]],
    );
}

#[test]
fn a_limit_of_nothing_still_lets_one_run() {
    check(
        "
            open s max=0
            spawn a explore bg
            spawn b explore bg
        ",
        &expect![[r#"
            > open s max=0
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
        "#]],
    );
}

#[test]
fn agents_at_one_time_are_limited_and_a_refusal_changes_nothing() {
    check(
        "
            open s max=1 descendants=2
            spawn a explore bg
            spawn b explore bg
            spawn c explore bg
            spawn d explore
            settle a ok
            spawn c explore bg
        ",
        &expect![[r#"
            > open s max=1 descendants=2
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
              c3: refused: more than 2
            > spawn d explore
              c4: refused: more than 2
            > settle a ok
              fact settled a#1 completed
              fact started b#1
              start b#1 "do b"
                = a:completed/held b:running
            > spawn c explore bg
              fact spawned c#1
              c5: c#1 @explore-3 queued at 1
                = a:completed/held b:running c:queued(1)
        "#]],
    );
}

#[test]
fn depth_is_limited() {
    check(
        "
            open s depth=2
            spawn a explore bg
            spawn b explore bg parent=a
            spawn c explore bg parent=b
            open t depth=0
            spawn d explore bg in=t
            spawn e explore bg in=t parent=d
        ",
        &expect![[r#"
            > open s depth=2
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg parent=a
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > spawn c explore bg parent=b
              c3: refused: deeper than 2
            > open t depth=0
            > spawn d explore bg in=t
              fact spawned d#1
              fact started d#1
              start d#1 "do d"
              c4: d#1 @explore running
                = a:running b:running d:running
            > spawn e explore bg in=t parent=d
              c5: refused: deeper than 1
        "#]],
    );
}

#[test]
fn spawns_with_unknown_or_ended_owners_are_refused() {
    check(
        "
            spawn a explore bg
            open s
            open t
            spawn b explore bg parent=x
            spawn a explore bg
            spawn c explore bg parent=a in=t
            settle a ok
            spawn c explore bg parent=a
        ",
        &expect![[r#"
            > spawn a explore bg
              c1: refused: unknown session s
            > open s
            > open t
            > spawn b explore bg parent=x
              c2: refused: unknown agent x
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c3: a#1 @explore running
                = a:running
            > spawn c explore bg parent=a in=t
              c4: refused: unknown agent a
            > settle a ok
              fact settled a#1 completed
                = a:completed/held
            > spawn c explore bg parent=a
              c5: refused: a is not running but completed
        "#]],
    );
}

#[test]
fn an_id_that_is_taken_leaves_the_first_record_alone() {
    check(
        "
            open s
            spawn a explore bg name=scout
            spawn a plan
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg name=scout
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn a plan
              c2: refused: a exists
        "#]],
    );
}

#[test]
fn sessions_have_pools_and_names_of_their_own() {
    check(
        "
            open s max=1
            open t max=1
            spawn a explore bg
            spawn b explore bg in=t
            spawn c explore bg in=t
            settle a ok
        ",
        &expect![[r#"
            > open s max=1
            > open t max=1
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b explore bg in=t
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore running
                = a:running b:running
            > spawn c explore bg in=t
              fact spawned c#1
              c3: c#1 @explore-2 queued at 1
                = a:running b:running c:queued(1)
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running c:queued(1)
        "#]],
    );
}

#[test]
fn handles_are_numbered_and_aliases_share_their_names() {
    check(
        "
            open s
            spawn a Explore
            spawn b Explore name=explore
            spawn c Explore name=Scout
            spawn d main name=main
        ",
        &expect![[r#"
            > open s
            > spawn a Explore
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > spawn b Explore name=explore
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:running b:running
            > spawn c Explore name=Scout
              fact spawned c#1
              fact started c#1
              start c#1 "do c"
              c3: c#1 @explore-4 running
                = a:running b:running c:running
            > spawn d main name=main
              fact spawned d#1
              fact started d#1
              start d#1 "do d"
              c4: d#1 @main-2 running
                = a:running b:running c:running d:running
        "#]],
    );
}
