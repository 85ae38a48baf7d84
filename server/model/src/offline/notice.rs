//! What a parent is told of its agents: receipts of calls, news of their ends, and results that it asks for.

/// What an agent came to, as far as its parent has been told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) text: String,
    /// Whether the text is only the beginning.
    pub(super) cut: bool,
    /// Why it is not a whole answer; none where the agent ended well.
    pub(super) flaw: Option<String>,
}

/// The answer to a call that started an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Receipt {
    /// It works in the background.
    Started { id: String },
    /// The call waited for it.
    Ended(Told),
    /// There is no such agent.
    Refused(String),
}

/// News of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News {
    pub(super) id: String,
    pub(super) told: Told,
}

const CUT_MARK: &str = "[cut here:";
const OPEN: &str = "<task-notification>";
const CLOSE: &str = "</task-notification>";

/// The words of a state that needs no remark.
const GOOD: &str = "Done";

pub(super) fn receipt(result: &str, failed: bool) -> Receipt {
    if failed {
        return Receipt::Refused(result.trim().to_owned());
    }
    if let Some(id) = result.lines().find_map(|line| line.strip_prefix("Agent id: ")) {
        return Receipt::Started { id: id.trim().to_owned() };
    }
    let (head, text) = result.split_once("\n\n").unwrap_or((result, ""));
    // Notes may stand before the line that says how it ended.
    let head = head.lines().rfind(|line| line.starts_with("Agent ")).unwrap_or_default();
    let flaw = (!head.starts_with("Agent completed") || head.contains("unfinished")).then(|| head.to_owned());
    Receipt::Ended(Told { text: text.trim().to_owned(), cut: false, flaw })
}

/// All news in a message; none where it is something else that was said.
pub(super) fn news(message: &str) -> Vec<News> {
    let blocks = message.split(OPEN).skip(1).filter_map(|rest| rest.split_once(CLOSE));
    blocks.filter_map(|(block, _)| one(block)).collect()
}

fn one(block: &str) -> Option<News> {
    let id = field(block, "task-id")?;
    let status = field(block, "status").unwrap_or_default();
    let result = field(block, "result").unwrap_or_default();
    let (text, cut) = match result.rsplit_once(CUT_MARK) {
        Some((text, _)) => (text.trim_end().to_owned(), true),
        None => (result, false),
    };
    let flaw = (status != GOOD)
        .then(|| field(block, "summary").filter(|words| !words.is_empty()).unwrap_or(status.clone()));
    // What went wrong stands in the state, how far it came in the summary.
    let flaw =
        flaw.map(|words| if status.starts_with("Error") { format!("{words} ({status})") } else { words });
    Some(News { id, told: Told { text, cut, flaw } })
}

/// The text between two tags, its escapes undone.
fn field(block: &str, tag: &str) -> Option<String> {
    let (_, rest) = block.split_once(&format!("<{tag}>"))?;
    let (text, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(text.trim().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// The text of a result that was asked for, without the lines about the agent before it.
pub(super) fn fetched(result: &str) -> String {
    let (_, text) = result.split_once("\n\n").unwrap_or(("", result));
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{News, Receipt, Told, fetched, news, receipt};

    #[test]
    fn receipts_name_the_agent_or_say_what_happened() {
        let started = "Agent started in the background.\nAgent id: a1\nName: explore\nDescription: x\nYou will be told.";
        assert_eq!(receipt(started, false), Receipt::Started { id: "a1".into() });
        assert_eq!(receipt("limit reached", true), Receipt::Refused("limit reached".into()));
        let told = |text: &str, flaw: Option<&str>| {
            Receipt::Ended(Told { text: text.into(), cut: false, flaw: flaw.map(str::to_owned) })
        };
        let inline = "Note: another model.\nAgent completed in 1.0s (3 tool uses)\n\nSummary: a.";
        assert_eq!(receipt(inline, false), told("Summary: a.", None));
        assert_eq!(receipt("Agent failed: no key", false), told("", Some("Agent failed: no key")));
    }

    #[test]
    fn news_come_alone_or_in_groups() {
        let block = |id: &str, status: &str, result: &str| {
            format!(
                "<task-notification>\n<task-id>{id}</task-id>\n<status>{status}</status>\n<summary>Agent \"x\" ended</summary>\n\
                 <result>{result}</result>\n<usage></usage>\n</task-notification>"
            )
        };
        let good = block("a1", "Done", "1 &lt; 2 &amp;&amp; 3\n[cut here: get_subagent_result has the rest]");
        let told = Told { text: "1 < 2 && 3".into(), cut: true, flaw: None };
        assert_eq!(news(&good), [News { id: "a1".into(), told: told.clone() }]);
        let both = format!("2 agents have ended\n\n{good}\n\n{}", block("a2", "Error: no &amp;", ""));
        let failed =
            Told { text: String::new(), cut: false, flaw: Some("Agent \"x\" ended (Error: no &)".into()) };
        assert_eq!(news(&both), [News { id: "a1".into(), told }, News { id: "a2".into(), told: failed }]);
        assert_eq!(news("<task-notification> of a person"), []);
        assert_eq!(news("<task-notification><task-id>a</task-id>"), [], "never closed");
    }

    #[test]
    fn a_fetched_result_loses_its_head() {
        assert_eq!(
            fetched("Agent: a1\nExplore · Done · 3 tool uses\nx\n\nSummary: a.\n\nmore"),
            "Summary: a.\n\nmore"
        );
        assert_eq!(fetched("short"), "short");
    }
}
