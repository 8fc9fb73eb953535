//! Tools of the browser and of sources.

use super::*;

#[test]
fn tools_of_the_browser_are_bounded_and_never_hide_one_of_the_server() {
    on_system(async {
        let offer = |name: &str| ClientTool {
            name: name.to_owned(),
            description: "from the browser".to_owned(),
            parameters: Some(json!({"type": "object"})),
        };
        let gate = Gate::open();
        let chat = builder(&script("work"))
            .tool(gate.tool("work"))
            .build()
            .unwrap();
        let run = chat
            .run(ChatRun::new("go").client_tools(vec![offer("work"), offer("other")]))
            .await
            .unwrap();
        assert!(is_completed(&run.outcome().await));
        assert_eq!(gate.done(), 1);
        let many = (0..200).map(|n| offer(&n.to_string())).collect();
        let run = chat
            .run(ChatRun::new("go").client_tools(many))
            .await
            .unwrap();
        let seen = events(&run).await;
        assert_eq!(names(&seen), ["RUN_ERROR"]);
        assert_eq!(seen[0]["code"], "too_many_tools");
    });
}

/// A source without tools that counts its closings, or that cannot list.
#[derive(Clone)]
struct Counting {
    fails: bool,
    closed: Arc<Mutex<usize>>,
}

impl ToolSource for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn tools(&self) -> LocalBoxFuture<'static, Result<Vec<SourceTool>, SourceError>> {
        let fails = self.fails;
        Box::pin(async move {
            if fails {
                return Err(SourceError::new("counting", "connect ECONNREFUSED"));
            }
            Ok(Vec::new())
        })
    }

    fn close(&self) -> LocalBoxFuture<'static, ()> {
        *self.closed.lock().unwrap() += 1;
        Box::pin(async {})
    }
}

#[test]
fn sources_are_closed_with_the_run_unless_they_are_kept_alive() {
    on_system(async {
        for (keep, fails, closings) in [(false, false, 1), (false, true, 1), (true, false, 0)] {
            let source = Counting {
                fails,
                closed: Arc::default(),
            };
            let mut mcp = Mcp::clients([&source]);
            if keep {
                mcp = mcp.keep_alive();
            }
            let chat = builder(&json!({"turns": [{"text": ["Hello."]}]}))
                .mcp(mcp)
                .build()
                .unwrap();
            let run = chat.run(ChatRun::new("go")).await.unwrap();
            assert_eq!(is_completed(&run.outcome().await), !fails);
            assert_eq!(*source.closed.lock().unwrap(), closings);
        }
    });
}

#[test]
fn a_source_that_cannot_list_may_be_left_out() {
    on_system(async {
        let source = Counting {
            fails: true,
            closed: Arc::default(),
        };
        let mcp = Mcp::clients([&source]).on_discovery_error(|error| {
            assert_eq!(error.source_name, "counting");
            OnDiscoveryError::Skip
        });
        let chat = builder(&json!({"turns": [{"text": ["Hello."]}]}))
            .mcp(mcp)
            .build()
            .unwrap();
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        assert!(is_completed(&run.outcome().await));
    });
}

#[test]
fn a_paused_run_holds_nothing_open() {
    on_system(async {
        let chat = approving(&Gate::open());
        let run = chat.run(ChatRun::new("go")).await.unwrap();
        assert!(matches!(run.outcome().await, Outcome::Interrupted(_)));
        until("the run is forgotten", || chat.open_runs() == 0).await;
        assert!(chat.find(&Owner::ANONYMOUS, run.id()).is_none());
    });
}
