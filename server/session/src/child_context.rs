//! The marker "a child session is being built here": what an extension looks at to leave a child alone.
//!
//! It belongs to the call, not to the process: it survives every await of the marked future and nobody else sees it.

use std::future::Future;

tokio::task_local! {
    static CHILD_CONTEXT: ();
}

/// Runs a future in a child context.
pub async fn in_child_context<F: Future>(work: F) -> F::Output {
    CHILD_CONTEXT.scope((), work).await
}

/// Runs a function in a child context.
pub fn in_child_context_sync<R>(work: impl FnOnce() -> R) -> R {
    CHILD_CONTEXT.sync_scope((), work)
}

/// Whether the caller is building a child session. An extension that delegates returns at once where this holds;
/// nested delegation is granted as tools instead.
pub fn inside_child_context() -> bool {
    CHILD_CONTEXT.try_with(|()| ()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{in_child_context, in_child_context_sync, inside_child_context};

    #[tokio::test]
    async fn it_survives_awaits_and_ends_with_its_future() {
        assert!(!inside_child_context());
        let seen = in_child_context(async {
            tokio::task::yield_now().await;
            inside_child_context()
        })
        .await;
        assert!(seen);
        assert!(!inside_child_context());
    }

    #[tokio::test]
    async fn other_work_of_the_same_task_does_not_see_it() {
        let marked = in_child_context(async {
            for _ in 0..3 {
                assert!(inside_child_context());
                tokio::task::yield_now().await;
            }
        });
        let other = async {
            for _ in 0..3 {
                assert!(!inside_child_context());
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(marked, other);
        let spawned = in_child_context(async { tokio::spawn(async { inside_child_context() }).await });
        assert!(!spawned.await.unwrap(), "a task of its own is work of its own");
    }

    #[test]
    fn it_works_without_a_runtime() {
        assert!(in_child_context_sync(inside_child_context));
        assert!(!inside_child_context());
    }
}
