//! Agents that own agents.

use expect_test::expect;

use super::check;

#[test]
fn news_of_a_nested_run_goes_to_its_owner() {
    check(
        r#"
            open s
            spawn a explore bg
            spawn n explore bg parent=a
            settle n ok "found"
            +200ms
            drain s
            drain @a idle
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
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > settle n ok "found"
              fact settled n#1 completed "found"
                = a:running n:completed/held
            > +200ms
              after 200 ms
              row n
              announce [n#1]
              wake @a
                = a:running n:completed/pending
            > drain s
              c3: nothing
            > drain @a idle
              c4: b1 [n#1]
            > delivered b1
              fact delivered n#1
              row n
                = a:running n:completed/delivered
        "#]],
    );
}

#[test]
fn an_owner_that_waits_gets_even_what_a_person_stopped() {
    check(
        r#"
            open s
            spawn a explore bg
            spawn n explore bg parent=a
            stop n by=user
            settle n stopped "half"
            +200ms
            drain @a idle
        "#,
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
            > stop n by=user
              fact stopped n#1 by user
              cancel n#1 by user
              c3: stop: [n stopping]
                = a:running n:stopping
            > settle n stopped "half"
              fact settled n#1 stopped by user "half"
                = a:running n:stopped/held
            > +200ms
              after 200 ms
              row n
              announce [n#1]
              wake @a
                = a:running n:stopped/pending
            > drain @a idle
              c4: b1 [n#1]
        "#]],
    );
}

#[test]
fn the_children_of_an_owner_that_ended_are_stopped() {
    check(
        "
            open s depth=3
            spawn a explore bg
            spawn n explore bg parent=a
            spawn m explore bg parent=n
            settle a err
            settle n stopped
            settle m stopped
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
            > spawn m explore bg parent=n
              fact spawned m#1
              fact started m#1
              start m#1 "do m"
              c3: m#1 @explore-3 running
                = a:running n:running m:running
            > settle a err
              fact settled a#1 error (Provider) error "it broke"
              fact stopped n#1 by parent
              cancel n#1 by parent
                = a:error/held n:stopping m:running
            > settle n stopped
              fact settled n#1 stopped by parent
              fact stopped m#1 by parent
              cancel m#1 by parent
                = a:error/held n:stopped/held m:stopping
            > settle m stopped
              fact settled m#1 stopped by parent
                = a:error/held n:stopped/held m:stopped/held
        "#]],
    );
}

#[test]
fn an_owner_that_ended_is_not_woken_and_gets_the_news_when_it_is_resumed() {
    check(
        r#"
            open s
            spawn a explore bg
            spawn n explore bg parent=a
            settle a aborted
            settle n stopped "half"
            +200ms
            drain @a
            resume a bg
            drain @a
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
            > spawn n explore bg parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > settle a aborted
              fact settled a#1 aborted by limit (MaxTurns)
              fact stopped n#1 by parent
              cancel n#1 by parent
                = a:aborted/held n:stopping
            > settle n stopped "half"
              fact settled n#1 stopped by parent "half"
                = a:aborted/held n:stopped/held
            > +200ms
              after 200 ms
              row a
              row n
              announce [a#1]
              announce [n#1]
              wake s
                = a:aborted/pending n:stopped/pending
            > drain @a
              c3: nothing
            > resume a bg
              fact resumed a#2
              fact started a#2
              start a#2 "a"
              c4: a#2 @explore running
              wake @a
                = a#2:running n:stopped/pending
            > drain @a
              c5: b1 [n#1]
            > delivered b1
              fact delivered n#1
              row n
                = a#2:running n:stopped/delivered
        "#]],
    );
}

#[test]
fn a_batch_that_an_owner_never_answered_for_comes_back_when_it_is_resumed() {
    check(
        "
            open s
            spawn a explore bg
            spawn n explore bg parent=a
            settle n ok
            +200ms
            drain @a
            settle a ok
            resume a bg
            drain @a
            delivered b1
            delivered b2
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
            > settle n ok
              fact settled n#1 completed
                = a:running n:completed/held
            > +200ms
              after 200 ms
              row n
              announce [n#1]
              wake @a
                = a:running n:completed/pending
            > drain @a
              c3: b1 [n#1]
            > settle a ok
              fact settled a#1 completed
                = a:completed/held n:completed/pending
            > resume a bg
              fact resumed a#2
              fact started a#2
              start a#2 "a"
              c4: a#2 @explore running
              wake @a
                = a#2:running n:completed/pending
            > drain @a
              c5: b2 [n#1]
            > delivered b1
            > delivered b2
              fact delivered n#1
              row n
                = a#2:running n:completed/delivered
        "#]],
    );
}

#[test]
fn nested_runs_of_one_turn_are_reported_together() {
    check(
        "
            open s
            spawn a explore bg turn=1
            over s 1
            spawn n explore bg parent=a turn=1
            spawn m explore bg parent=a turn=1
            over @a 1
            settle n ok
            settle m ok
            +200ms
            drain @a
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
            > spawn n explore bg parent=a turn=1
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > spawn m explore bg parent=a turn=1
              fact spawned m#1
              fact started m#1
              start m#1 "do m"
              c3: m#1 @explore-3 running
                = a:running n:running m:running
            > over @a 1
            > settle n ok
              fact settled n#1 completed
                = a:running n:completed/held m:running
            > settle m ok
              fact settled m#1 completed
                = a:running n:completed/held m:completed/held
            > +200ms
              after 200 ms
              row m
              row n
              announce [n#1, m#1] group a/1
              wake @a
                = a:running n:completed/pending m:completed/pending
            > drain @a
              c4: b1 [n#1, m#1]
        "#]],
    );
}

#[test]
fn a_nested_run_that_is_awaited_leaves_no_news() {
    check(
        r#"
            open s
            spawn a explore bg
            spawn n explore parent=a
            await n consume
            settle n ok "found"
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
            > spawn n explore parent=a
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > await n consume
            > settle n ok "found"
              fact settled n#1 completed "found"
              c3: n#1 completed "found"
                = a:running n:completed
            > +1s
        "#]],
    );
}

#[test]
fn an_owner_being_stopped_gets_no_new_children() {
    check(
        "
            open s
            spawn a explore bg
            spawn n explore bg parent=a
            settle n ok
            stop a by=user
            spawn m explore bg parent=a
            resume n bg
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
            > settle n ok
              fact settled n#1 completed
                = a:running n:completed/held
            > stop a by=user
              fact stopped a#1 by user
              cancel a#1 by user
              c3: stop: [a stopping]
                = a:stopping n:completed/held
            > spawn m explore bg parent=a
              c4: refused: a is not running but stopping
            > resume n bg
              c5: refused: a is not running but stopping
        "#]],
    );
}

#[test]
fn groups_of_an_owner_that_ended_wait_no_longer() {
    check(
        "
            open s
            spawn a explore bg
            spawn n explore bg parent=a turn=1
            settle n ok
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
            > spawn n explore bg parent=a turn=1
              fact spawned n#1
              fact started n#1
              start n#1 "do n"
              c2: n#1 @explore-2 running
                = a:running n:running
            > settle n ok
              fact settled n#1 completed
                = a:running n:completed/held
            > settle a ok
              fact settled a#1 completed
                = a:completed/held n:completed/held
            > +200ms
              after 200 ms
              row a
              row n
              announce [n#1]
              announce [a#1]
              wake s
                = a:completed/pending n:completed/pending
        "#]],
    );
}
