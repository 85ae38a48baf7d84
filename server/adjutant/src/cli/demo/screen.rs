//! What the demo shows: a live roster under the lines where there is a terminal, else the lines alone.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use protocol::AgentSummary;
use vocab::{AgentId, AgentStatus, Timestamp};

/// Redraws a second.
const REDRAWS: u8 = 15;

/// The demo's output.
#[derive(Debug)]
pub(super) struct Screen {
    live: Option<Live>,
    colour: bool,
    /// The last state that was told of an agent, where there is no roster to look at.
    told: BTreeMap<AgentId, AgentStatus>,
}

/// A roster that is redrawn.
#[derive(Debug)]
struct Live {
    bars: MultiProgress,
    rows: BTreeMap<AgentId, ProgressBar>,
    /// What the parent is writing.
    parent: ProgressBar,
}

/// How a line is set off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Heading,
    Quiet,
    Good,
    Bad,
}

impl Tone {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Heading => Some("1"),
            Self::Quiet => Some("2"),
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
        }
    }
}

impl Screen {
    /// On the standard output. `no_color` holds for lines and roster alike.
    pub(super) fn new(no_color: bool) -> Self {
        let terminal =
            io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let live = terminal.then(|| {
            let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stdout_with_hz(REDRAWS));
            let parent = bars.add(line_bar());
            Live { bars, rows: BTreeMap::new(), parent }
        });
        Self { live, colour: terminal && !no_color, told: BTreeMap::new() }
    }

    /// Shows a line for good. The text is data: what could steer a terminal is taken out of it.
    pub(super) fn line(&self, tone: Tone, text: &str) -> io::Result<()> {
        let text = self.paint(tone, &clean(text));
        match &self.live {
            // An empty text would show nothing at all.
            Some(live) => live.bars.println(if text.is_empty() { " " } else { &text }),
            None => writeln!(io::stdout().lock(), "{text}"),
        }
    }

    /// Shows the line that the parent is writing.
    pub(super) fn partial(&self, text: &str) {
        if let Some(live) = &self.live {
            live.parent.set_message(clean(text));
        }
    }

    /// Shows the roster as it is `now`, by the server's clock.
    pub(super) fn roster(&mut self, agents: &[&AgentSummary], now: Timestamp) -> io::Result<()> {
        if self.live.is_none() {
            return self.tell_changes(agents);
        }
        for agent in agents {
            let (tone, _) = look(agent.status);
            let row = self.paint(tone, &row(agent, now));
            let Some(live) = &mut self.live else { continue };
            let bar = live
                .rows
                .entry(agent.agent_id.clone())
                .or_insert_with(|| live.bars.insert_before(&live.parent, line_bar()));
            bar.set_message(row);
        }
        Ok(())
    }

    /// One line for each change of state. Ends are left out: their news says more.
    fn tell_changes(&mut self, agents: &[&AgentSummary]) -> io::Result<()> {
        for agent in agents {
            if self.told.insert(agent.agent_id.clone(), agent.status) == Some(agent.status)
                || agent.status.is_final()
            {
                continue;
            }
            let (tone, glyph) = look(agent.status);
            let line = format!("{glyph} {} {}: {}", agent.handle, agent.status.as_str(), agent.description);
            self.line(tone, &line)?;
        }
        Ok(())
    }

    /// Leaves the roster as it is and goes on below it.
    pub(super) fn finish(&mut self) {
        if let Some(live) = self.live.take() {
            live.parent.finish_and_clear();
            for row in live.rows.values() {
                row.finish();
            }
        }
    }

    fn paint(&self, tone: Tone, text: &str) -> String {
        match tone.code().filter(|_| self.colour && !text.is_empty()) {
            Some(code) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }
}

fn line_bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style)
}

fn look(status: AgentStatus) -> (Tone, char) {
    match status {
        AgentStatus::Queued => (Tone::Quiet, '○'),
        AgentStatus::Running => (Tone::Plain, '●'),
        AgentStatus::Stopping => (Tone::Plain, '◌'),
        AgentStatus::Completed | AgentStatus::Steered => (Tone::Good, '✓'),
        AgentStatus::Stopped => (Tone::Quiet, '■'),
        AgentStatus::Aborted | AgentStatus::Error | AgentStatus::Interrupted => (Tone::Bad, '✗'),
    }
}

/// One agent on one line; what may be cut stands last.
fn row(agent: &AgentSummary, now: Timestamp) -> String {
    let (_, glyph) = look(agent.status);
    let until = agent.completed_at.filter(|_| agent.status.is_final()).unwrap_or(now);
    let elapsed = agent.started_at.map_or(0, |started| until.ms_since(started));
    let does = agent.activity.as_deref().filter(|_| !agent.status.is_final()).unwrap_or(&agent.description);
    let line = format!(
        "{glyph} {:<9} {:<14} {:>2} turns {:>3} tools {:>6} tokens {:>6}  {does}",
        agent.status.as_str(),
        agent.handle,
        agent.turns,
        agent.tool_uses,
        tokens(agent.usage.total),
        seconds(Duration::from_millis(elapsed)),
    );
    clean(&line)
}

/// `950`, `12.3k`.
pub(super) fn tokens(count: u64) -> String {
    if count < 1_000 { count.to_string() } else { format!("{:.1}k", count as f64 / 1e3) }
}

/// `3.2 s`.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// A text without control characters and marks of direction: files may hold some, and a terminal obeys them.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{clean, seconds, tokens};

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        assert_eq!(clean("a\u{1b}[2J\tb\u{7}\u{9b}c"), "a\u{fffd}[2J b\u{fffd}\u{fffd}c");
    }

    #[test]
    fn figures_are_short() {
        assert_eq!((tokens(999).as_str(), tokens(12_345).as_str()), ("999", "12.3k"));
        assert_eq!(seconds(Duration::from_millis(3_249)), "3.2 s");
    }
}
