//! Sessions that open and close, the end of the server, and what a new one finds.

use expect_test::expect;

use super::check;

#[test]
fn closing_a_session_stops_its_agents_and_removes_them() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn n explore bg parent=a
            spawn c explore
            settle c ok
            close s
            spawn d explore bg
            settle n stopped
            settle a stopped "half"
            open s
            spawn e explore bg
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
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c3: n#1 @explore-3 running
                = a:running b:queued(1) n:running
            > spawn c explore
              fact spawned c#1
              fact started c#1
              start c#1 "do c"
              c4: c#1 @explore-4 running
                = a:running b:queued(1) n:running c:running
            > settle c ok
              fact settled c#1 completed
                = a:running b:queued(1) n:running c:completed
            > close s
              fact stopped a#1 by parent
              cancel a#1 by parent
              fact stopped b#1 by parent
              fact settled b#1 stopped by parent
              fact stopped n#1 by parent
              cancel n#1 by parent
              announce [b#1]
                = a:stopping b:stopped/pending n:stopping c:completed
            > spawn d explore bg
              c5: refused: unknown session s
            > settle n stopped
              fact settled n#1 stopped by parent
              announce [n#1]
                = a:stopping b:stopped/pending n:stopped/pending c:completed
            > settle a stopped "half"
              fact settled a#1 stopped by parent "half"
              announce [a#1]
                = 
            > open s
            > spawn e explore bg
              fact spawned e#1
              fact started e#1
              start e#1 "do e"
              c6: e#1 @explore running
                = e:running
        "#]],
    );
}

#[test]
fn closing_a_session_announces_what_was_held() {
    check(
        "
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            spawn c explore bg
            settle a ok
            settle c ok
            close s
            settle b stopped
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
            > spawn c explore bg
              fact spawned c#1
              fact started c#1
              start c#1 "do c"
              c3: c#1 @explore-3 running
                = a:running b:running c:running
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running c:running
            > settle c ok
              fact settled c#1 completed
                = a:completed/held b:running c:completed/held
            > close s
              fact stopped b#1 by parent
              cancel b#1 by parent
              row a
              row c
              announce [a#1] group s/1 partial
              announce [c#1]
                = a:completed/pending b:stopping c:completed/pending
            > settle b stopped
              fact settled b#1 stopped by parent
              announce [b#1] group s/1
                = 
        "#]],
    );
}

#[test]
fn an_empty_session_goes_at_once() {
    check(
        "
            open s
            spawn a explore bg
            settle a ok
            close s
            read a
            close s
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
            > close s
              announce [a#1]
                = 
            > read a
              c2: refused: unknown agent a
            > close s
        "#]],
    );
}

#[test]
fn a_session_opened_while_it_closes_stays() {
    check(
        "
            open s
            spawn a explore bg
            close s
            open s
            settle a stopped
            spawn b explore bg
        ",
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > close s
              fact stopped a#1 by parent
              cancel a#1 by parent
                = a:stopping
            > open s
            > settle a stopped
              fact settled a#1 stopped by parent
                = a:stopped/held
            > spawn b explore bg
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c2: b#1 @explore-2 running
                = a:stopped/held b:running
        "#]],
    );
}

#[test]
fn a_batch_that_arrives_after_its_session_went_is_kept() {
    check(
        "
            open s
            spawn a explore bg
            settle a ok
            +200ms
            drain s
            close s
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
            > close s
                = 
            > delivered b1
              fact delivered a#1
        "#]],
    );
}

#[test]
fn the_end_of_the_server_interrupts_everything_and_tells_nobody() {
    check(
        r#"
            open s max=1
            spawn a explore bg
            spawn b explore bg
            spawn f explore
            await f consume
            spawn n explore bg parent=a
            spawn c explore by=person bg
            stop c by=user
            shutdown
            +60s
            settle a ok "late"
            shutdown
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
            > await f consume
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c5: n#1 @explore-4 running
                = a:running b:queued(1) f:running n:running
            > spawn c explore by=person bg
              fact spawned c#1
              c6: c#1 @explore-5 queued at 2
                = a:running b:queued(1) f:running n:running c:queued(2)
            > stop c by=user
              fact stopped c#1 by user
              fact settled c#1 stopped by user
              c7: stop: [c stopped]
              announce [c#1]
                = a:running b:queued(1) f:running n:running c:stopped/held
            > shutdown
              cancel a#1 by host
              fact settled a#1 interrupted by host
              fact settled b#1 interrupted by host
              cancel f#1 by host
              fact settled f#1 interrupted by host
              cancel n#1 by host
              fact settled n#1 interrupted by host
              c4: f#1 interrupted by host
                = a:interrupted b:interrupted f:interrupted n:interrupted c:stopped/held
            > +60s
            > settle a ok "late"
            > shutdown
        "#]],
    );
}

#[test]
fn after_the_end_nothing_is_armed_started_or_given() {
    check(
        r#"
            open s
            spawn a explore bg turn=1
            spawn b explore bg turn=1
            settle a ok
            shutdown
            +60s
            over s 1
            drain s
            spawn c explore bg
            resume a bg
            steer b "hello"
            stop b by=user
            open t
            close s
        "#,
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
            > settle a ok
              fact settled a#1 completed
                = a:completed/held b:running
            > shutdown
              cancel b#1 by host
              fact settled b#1 interrupted by host
                = a:completed/held b:interrupted
            > +60s
            > over s 1
            > drain s
              c3: nothing
            > spawn c explore bg
              c4: refused: shutting down
            > resume a bg
              c5: refused: shutting down
            > steer b "hello"
              c6: refused: b is not running but interrupted
            > stop b by=user
              c7: stop: [b interrupted]
            > open t
            > close s
        "#]],
    );
}

#[test]
fn a_batch_on_its_way_at_the_end_is_kept_if_it_arrives() {
    check(
        "
            open s
            spawn a explore bg
            settle a ok
            +200ms
            drain s
            shutdown
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
            > shutdown
            > delivered b1
              fact delivered a#1
              row a
                = a:completed/delivered
        "#]],
    );
}

#[test]
fn restored_news_waits_for_a_turn_and_wakes_nobody() {
    check(
        r#"
            open s
            restore a ok pending "found"
            drain s idle
            drain s
            delivered b1
        "#,
        &expect![[r#"
            > open s
            > restore a ok pending "found"
              announce [a#1]
                = a:completed/pending
            > drain s idle
              c1: nothing
            > drain s
              c2: b1 [a#1]
            > delivered b1
              fact delivered a#1
              row a
                = a:completed/delivered
        "#]],
    );
}

#[test]
fn restored_news_that_was_announced_is_not_repeated() {
    check(
        r#"
            restore a ok pending announced "found"
            restore b ok delivered announced
            restore c interrupted
            read a
            drain s
        "#,
        &expect![[r#"
            > restore a ok pending announced "found"
                = a:completed/pending
            > restore b ok delivered announced
                = a:completed/pending b:completed/delivered
            > restore c interrupted
                = a:completed/pending b:completed/delivered c:interrupted
            > read a
              c1: a#1 completed "found"
            > drain s
              c2: b1 [a#1]
        "#]],
    );
}

#[test]
fn restored_agents_keep_their_names_and_can_be_resumed() {
    check(
        "
            restore a interrupted name=scout
            restore a ok pending
            open s
            spawn b explore bg name=scout
            resume a bg
            settle a ok
            +200ms
        ",
        &expect![[r#"
            > restore a interrupted name=scout
                = a:interrupted
            > restore a ok pending
            > open s
            > spawn b explore bg name=scout
              fact spawned b#1
              fact started b#1
              start b#1 "do b"
              c1: b#1 @explore-2 running
                = a:interrupted b:running
            > resume a bg
              fact resumed a#2
              fact started a#2
              start a#2 "a"
              c2: a#2 @explore running
                = a#2:running b:running
            > settle a ok
              fact settled a#2 completed
                = a#2:completed/held b:running
            > +200ms
              after 200 ms
              row a
              announce [a#2]
              wake s
                = a#2:completed/pending b:running
        "#]],
    );
}

#[test]
fn an_outcome_without_an_end_is_a_lost_run() {
    check(
        r#"
            open s
            spawn a explore bg
            settle a running "half"
        "#,
        &expect![[r#"
            > open s
            > spawn a explore bg
              fact spawned a#1
              fact started a#1
              start a#1 "do a"
              c1: a#1 @explore running
                = a:running
            > settle a running "half"
              fact settled a#1 error (Lost) "half" error "the run ended without an outcome; resume it to go on"
                = a:error/held
        "#]],
    );
}
