use std::{
    future::Future,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::json;

use super::*;

/// An issuer whose keys and health the test changes.
#[derive(Default)]
struct Issuer {
    ids: Mutex<Vec<&'static str>>,
    down: Mutex<bool>,
    reads: AtomicUsize,
}

impl Issuer {
    fn set(self: &Arc<Self>) -> KeySet {
        let issuer = Arc::clone(self);
        let source: Source = Arc::new(move || {
            let issuer = Arc::clone(&issuer);
            Box::pin(async move {
                issuer.reads.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                if *issuer.down.lock().expect("a lock") {
                    return Err(EndpointError::Unreachable);
                }
                let ids = issuer.ids.lock().expect("a lock");
                let keys: Vec<_> = ids
                    .iter()
                    .map(|id| json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": "AAAA"}))
                    .collect();
                Ok(Key::read_set(json!({"keys": keys}).to_string().as_bytes()).expect("keys"))
            })
        });
        KeySet::new(source, Timing::default())
    }

    fn has(&self, ids: &[&'static str]) {
        *self.ids.lock().expect("a lock") = ids.to_vec();
    }

    fn is_down(&self, down: bool) {
        *self.down.lock().expect("a lock") = down;
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

async fn find(set: &KeySet, id: &str) -> Result<(), NoKey> {
    let fits = |keys: &[Key]| keys.iter().any(|key| key.id.as_deref() == Some(id));
    set.find(|keys| fits(keys).then_some(())).await
}

fn paused(test: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(async {
        tokio::time::pause();
        test.await;
    });
}

async fn seconds(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[test]
fn keys_are_kept_for_ten_minutes() {
    paused(async {
        let issuer = Arc::new(Issuer::default());
        issuer.has(&["a"]);
        let set = issuer.set();
        assert_eq!(find(&set, "a").await, Ok(()));
        seconds(599).await;
        assert_eq!(find(&set, "a").await, Ok(()));
        assert_eq!(issuer.reads(), 1);
        seconds(1).await;
        assert_eq!(find(&set, "a").await, Ok(()));
        assert_eq!(issuer.reads(), 2);
    });
}

// B147
#[test]
fn an_unknown_key_reads_again_but_not_within_the_cool_down() {
    paused(async {
        let issuer = Arc::new(Issuer::default());
        issuer.has(&["a"]);
        let set = issuer.set();
        assert_eq!(find(&set, "a").await, Ok(()));
        issuer.has(&["b"]);
        assert_eq!(find(&set, "b").await, Ok(()));
        assert_eq!(issuer.reads(), 2);
        for _ in 0..200 {
            assert_eq!(find(&set, "x").await, Err(NoKey::Unknown));
        }
        assert_eq!(issuer.reads(), 2);
        issuer.has(&["c"]);
        seconds(30).await;
        assert_eq!(find(&set, "c").await, Ok(()));
        assert_eq!(issuer.reads(), 3);
    });
}

#[test]
fn misses_at_the_same_time_share_one_reading() {
    paused(async {
        let issuer = Arc::new(Issuer::default());
        issuer.has(&["a"]);
        let set = issuer.set();
        let all = futures_util::future::join_all((0..50).map(|_| find(&set, "a"))).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(issuer.reads(), 1);
        issuer.has(&["b"]);
        let all = futures_util::future::join_all((0..50).map(|_| find(&set, "b"))).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(issuer.reads(), 2);
    });
}

// B147
#[test]
fn known_keys_stay_good_for_a_day_while_the_issuer_is_down() {
    paused(async {
        let issuer = Arc::new(Issuer::default());
        issuer.has(&["a"]);
        let set = issuer.set();
        assert_eq!(find(&set, "a").await, Ok(()));
        issuer.is_down(true);
        seconds(600).await;
        for _ in 0..10 {
            assert_eq!(find(&set, "a").await, Ok(()));
        }
        assert_eq!(
            issuer.reads(),
            2,
            "a failed reading is not tried again at once"
        );
        let unread = Err(NoKey::Unread(EndpointError::Unreachable));
        assert_eq!(find(&set, "b").await, unread);
        assert_eq!(find(&set, "b").await, unread);
        assert_eq!(issuer.reads(), 3);
        seconds(24 * 3600).await;
        assert_eq!(find(&set, "a").await, unread);
        issuer.is_down(false);
        seconds(30).await;
        assert_eq!(find(&set, "a").await, Ok(()));
    });
}

#[test]
fn an_issuer_that_was_never_read_is_tried_again_after_a_second() {
    paused(async {
        let issuer = Arc::new(Issuer::default());
        issuer.has(&["a"]);
        issuer.is_down(true);
        let set = issuer.set();
        let unread = Err(NoKey::Unread(EndpointError::Unreachable));
        assert_eq!(find(&set, "a").await, unread);
        assert_eq!(find(&set, "a").await, unread);
        assert_eq!(issuer.reads(), 1);
        issuer.is_down(false);
        seconds(1).await;
        assert_eq!(find(&set, "a").await, Ok(()));
    });
}

// B147
#[test]
fn threads_share_keys_and_survive_the_thread_that_read_them() {
    let issuer = Arc::new(Issuer::default());
    issuer.has(&["a"]);
    let set = issuer.set();
    for (id, reads) in [("a", 1), ("a", 1), ("b", 2)] {
        issuer.has(&["a", id]);
        let set = set.clone();
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move { find(&set, id).await })
        });
        assert_eq!(thread.join().expect("a thread"), Ok(()));
        assert_eq!(issuer.reads(), reads);
    }
}

#[test]
fn a_thread_without_a_system_shares_them_too() {
    let issuer = Arc::new(Issuer::default());
    issuer.has(&["a"]);
    let set = issuer.set();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    for _ in 0..2 {
        assert_eq!(runtime.block_on(find(&set, "a")), Ok(()));
    }
    assert_eq!(runtime.block_on(find(&set, "b")), Err(NoKey::Unknown));
    assert_eq!(issuer.reads(), 2);
}

#[test]
fn a_key_that_cannot_be_used_does_not_spoil_the_set() {
    let set = json!({"keys": [
        {"kty": "new", "kid": "a"}, 7, {},
        {"kty": "oct", "k": "AAAA", "kid": "b", "alg": "HS256"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": "c", "use": "enc"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": "d", "use": "sig", "alg": "EdDSA"},
        {"kty": "EC", "crv": "secp256k1", "x": "AAAA", "y": "AAAA", "kid": "e"},
        {"kty": "RSA", "n": "AAAA", "e": "AQAB", "kid": "f", "alg": "RSA-OAEP"},
    ]});
    let keys = Key::read_set(set.to_string().as_bytes()).expect("a set");
    let ids: Vec<_> = keys.iter().filter_map(|key| key.id.as_deref()).collect();
    assert_eq!(ids, ["d", "f"]);
    assert!(keys[0].signs(jsonwebtoken::Algorithm::EdDSA));
    assert!(!keys[0].signs(jsonwebtoken::Algorithm::ES256));
    assert!(!keys[1].signs(jsonwebtoken::Algorithm::RS256));
    for broken in ["", "[]", "{}", r#"{"keys":{}}"#] {
        assert!(Key::read_set(broken.as_bytes()).is_none(), "{broken}");
    }
}

#[test]
fn nothing_is_left_of_a_set_that_nobody_holds() {
    let issuer = Arc::new(Issuer::default());
    issuer.has(&["a"]);
    paused(async {
        let set = issuer.set();
        assert_eq!(find(&set, "a").await, Ok(()));
        assert_eq!(find(&set, "b").await, Err(NoKey::Unknown));
    });
    assert_eq!(Arc::strong_count(&issuer), 1);
    let set = issuer.set();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    assert_eq!(
        runtime.expect("a runtime").block_on(find(&set, "a")),
        Ok(())
    );
    drop(set);
    assert_eq!(Arc::strong_count(&issuer), 1);
}
