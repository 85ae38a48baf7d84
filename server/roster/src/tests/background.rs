//! News of background runs: held, pending, leased, delivered, consumed.

use expect_test::expect;

use super::check;

#[test]
fn a_completion_wakes_an_idle_owner_after_the_hold() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            +199ms
            +1ms
            drain s idle
            delivered b1
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
            > +199ms
            > +1ms
              after 1 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
            > drain s idle
              c2: b1 [a#1]
            > delivered b1
              fact delivered a#1
              row a
                = a:completed/delivered
        "#]],
    );
}

#[test]
fn a_waiting_reader_gets_the_result_and_the_model_no_news_of_it() {
    check(
        r#"
            open s
            spawn a explore bg
            await a consume
            settle a ok "found"
            +1s
            drain s
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
            > settle a ok "found"
              fact settled a#1 completed "found"
              fact consumed a#1
              c2: a#1 completed "found"
                = a:completed/consumed
            > +1s
              after 200 ms
              announce [a#1]
            > drain s
              c3: nothing
        "#]],
    );
}

#[test]
fn a_reader_within_the_hold_withdraws_the_news() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            +100ms
            read a consume
            +1s
            drain s
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
            > +100ms
            > read a consume
              fact consumed a#1
              row a
              c2: a#1 completed "found"
                = a:completed/consumed
            > +1s
              after 100 ms
              announce [a#1]
            > drain s
              c3: nothing
        "#]],
    );
}

#[test]
fn a_reader_after_the_hold_still_reads_and_withdraws_what_waits() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            +300ms
            read a consume
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
            > settle a ok "found"
              fact settled a#1 completed "found"
                = a:completed/held
            > +300ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
            > read a consume
              fact consumed a#1
              row a
              c2: a#1 completed "found"
                = a:completed/consumed
            > drain s idle
              c3: nothing
        "#]],
    );
}

#[test]
fn a_reader_after_delivery_changes_nothing() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            +300ms
            drain s
            delivered b1
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
            > +300ms
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
            > read a consume
              c3: a#1 completed "found"
            > await a consume
              c4: a#1 completed "found"
        "#]],
    );
}

#[test]
fn reading_as_a_person_consumes_nothing() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            read a
            await a
            +200ms
            drain s
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
            > read a
              c2: a#1 completed "found"
            > await a
              c3: a#1 completed "found"
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
            > drain s
              c4: b1 [a#1]
        "#]],
    );
}

#[test]
fn a_returned_batch_waits_again_and_wakes_again() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            +200ms
            drain s idle
            returned b1
            drain s idle
            delivered b2
            returned b2
            delivered b1
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
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
            > drain s idle
              c2: b1 [a#1]
            > returned b1
              wake s
            > drain s idle
              c3: b2 [a#1]
            > delivered b2
              fact delivered a#1
              row a
                = a:completed/delivered
            > returned b2
            > delivered b1
        "#]],
    );
}

#[test]
fn what_was_read_while_its_batch_was_on_the_way_does_not_come_back() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            +200ms
            drain s idle
            read a consume
            returned b1
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
            > settle a ok "found"
              fact settled a#1 completed "found"
                = a:completed/held
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
            > drain s idle
              c2: b1 [a#1]
            > read a consume
              c3: a#1 completed "found"
            > returned b1
              fact consumed a#1
              row a
                = a:completed/consumed
            > drain s idle
              c4: nothing
        "#]],
    );
}

#[test]
fn what_was_read_while_its_batch_arrived_is_delivered() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a ok "found"
            +200ms
            drain s idle
            read a consume
            delivered b1
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
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
            > drain s idle
              c2: b1 [a#1]
            > read a consume
              c3: a#1 completed "found"
            > delivered b1
              fact delivered a#1
              row a
                = a:completed/delivered
        "#]],
    );
}

#[test]
fn one_drain_takes_all_that_waits_in_the_order_of_settling() {
    check(
        "
            open s
            spawn a explore bg
            spawn b explore bg
            spawn c explore bg
            settle c ok
            settle a ok
            settle b err
            +200ms
            drain s idle
            delivered b1
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
            > spawn c explore bg
              fact spawned c#1
              fact started c#1
              start c#1 "do c"
              c3: c#1 @explore-3 running
                = a:running b:running c:running
            > settle c ok
              fact settled c#1 completed
                = a:running b:running c:completed/held
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running c:completed/held
            > settle b err
              fact settled b#1 error (Provider) error "it broke"
                = a:completed/held b:error/held c:completed/held
            > +200ms
              after 200 ms
              row a
              row b
              row c
              announce [c#1]
              announce [a#1]
              announce [b#1]
              wake s
                = a:completed/pending b:error/pending c:completed/pending
            > drain s idle
              c4: b1 [c#1, a#1, b#1]
            > delivered b1
              fact delivered c#1
              fact delivered a#1
              fact delivered b#1
              row a
              row b
              row c
                = a:completed/delivered b:error/delivered c:completed/delivered
        "#]],
    );
}

#[test]
fn an_owner_with_a_batch_in_hand_is_woken_only_after_it() {
    check(
        "
            open s
            spawn a explore bg
            spawn b explore bg
            settle a ok
            +200ms
            drain s idle
            settle b ok
            +200ms
            delivered b1
            drain s idle
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
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending b:running
            > drain s idle
              c3: b1 [a#1]
            > settle b ok
              fact settled b#1 completed
                = a:completed/pending b:completed/held
            > +200ms
              after 200 ms
              row b
              announce [b#1]
                = a:completed/pending b:completed/pending
            > delivered b1
              fact delivered a#1
              row a
              wake s
                = a:completed/delivered b:completed/pending
            > drain s idle
              c4: b2 [b#1]
        "#]],
    );
}

#[test]
fn nothing_is_given_before_its_hold_is_over() {
    check(
        "
            open s
            spawn a explore bg
            settle a ok
            drain s
            drain s idle
            +200ms
            drain s
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
            > drain s
              c2: nothing
            > drain s idle
              c3: nothing
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:completed/pending
            > drain s
              c4: b1 [a#1]
        "#]],
    );
}

#[test]
fn without_a_hold_news_is_there_at_once() {
    check(
        "
            open s hold=0
            spawn a explore bg
            settle a ok
            drain s idle
        ",
        &expect![[r#"
            > open s hold=0
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
              announce [a#1]
              wake s
                = a:completed/pending
            > drain s idle
              c2: b1 [a#1]
        "#]],
    );
}

#[test]
fn a_run_stopped_by_a_person_wakes_nobody_and_rides_along() {
    check(
        r#"
            open s
            spawn a explore bg
            spawn b explore bg
            stop a by=user
            settle a stopped "half"
            +1s
            drain s idle
            settle b ok
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
            > settle a stopped "half"
              fact settled a#1 stopped by user "half"
                = a:stopped/held b:running
            > +1s
              after 200 ms
              row a
              announce [a#1]
                = a:stopped/pending b:running
            > drain s idle
              c4: nothing
            > settle b ok
              fact settled b#1 completed
                = a:stopped/pending b:completed/held
            > +200ms
              after 200 ms
              row b
              announce [b#1]
              wake s
                = a:stopped/pending b:completed/pending
            > drain s idle
              c5: b1 [a#1, b#1]
        "#]],
    );
}

#[test]
fn a_run_stopped_by_a_person_is_given_at_the_next_turn() {
    check(
        r#"
            open s
            spawn a explore bg
            stop a by=user
            settle a stopped "half"
            +1s
            drain s
            delivered b1
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
            > settle a stopped "half"
              fact settled a#1 stopped by user "half"
                = a:stopped/held
            > +1s
              after 200 ms
              row a
              announce [a#1]
                = a:stopped/pending
            > drain s
              c3: b1 [a#1]
            > delivered b1
              fact delivered a#1
              row a
                = a:stopped/delivered
        "#]],
    );
}

#[test]
fn a_run_stopped_by_its_parent_wakes() {
    check(
        r#"
            open s
            spawn a explore bg
            stop a by=parent
            settle a stopped "half"
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
            > stop a by=parent
              fact stopped a#1 by parent
              cancel a#1 by parent
              c2: stop: [a stopping]
                = a:stopping
            > settle a stopped "half"
              fact settled a#1 stopped by parent "half"
                = a:stopped/held
            > +200ms
              after 200 ms
              row a
              announce [a#1]
              wake s
                = a:stopped/pending
        "#]],
    );
}

#[test]
fn a_persons_run_is_announced_at_once_and_wakes_nobody() {
    check(
        "
            open s
            spawn a explore bg by=person
            settle a ok
            +1s
            drain s idle
            drain s
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg by=person
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
              announce [a#1]
                = a:completed/held
            > +1s
              after 200 ms
              row a
                = a:completed/pending
            > drain s idle
              c2: nothing
            > drain s
              c3: b1 [a#1]
        "#]],
    );
}

#[test]
fn a_persons_run_wakes_on_request() {
    check(
        "
            open s
            spawn a explore bg by=person wake=yes
            settle a ok
            +200ms
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg by=person wake=yes
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a ok
              fact settled a#1 completed
              announce [a#1]
                = a:completed/held
            > +200ms
              after 200 ms
              row a
              wake s
                = a:completed/pending
        "#]],
    );
}

#[test]
fn a_foreground_run_has_one_answer_and_no_news() {
    check(
        r#"
            open s
            spawn f explore
            await f consume
            settle f ok "found"
            +1s
            drain s
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
            > settle f ok "found"
              fact settled f#1 completed "found"
              c2: f#1 completed "found"
                = f:completed
            > +1s
            > drain s
              c3: nothing
        "#]],
    );
}

#[test]
fn a_foreground_run_that_nobody_awaits_ends_quietly() {
    check(
        r#"
            open s
            spawn f explore
            settle f ok "found"
            +1s
        "#,
        &expect![[r#"
            > open s
            > spawn f explore
              fact spawned f#1
              fact started f#1
              start f#1 "do f"
              c1: f#1 @explore running
                = f:running
            > settle f ok "found"
              fact settled f#1 completed "found"
                = f:completed
            > +1s
        "#]],
    );
}

#[test]
fn a_result_is_unread_until_a_person_has_seen_it() {
    check(
        "
            open s
            spawn a explore bg
            settle a ok
            seen a
            seen a
            seen b
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
            > seen a
              fact seen a#1
              row a
            > seen a
            > seen b
        "#]],
    );
}

#[test]
fn unknown_batches_and_owners_are_nothing() {
    check(
        "
            open s
            delivered b7
            returned b7
            drain nobody
            drain @nobody idle
            over nobody 1
        ",
        &expect![[r#"
            > open s
            > delivered b7
            > returned b7
            > drain nobody
              c1: nothing
            > drain @nobody idle
              c2: nothing
            > over nobody 1
        "#]],
    );
}
