//! Rows of figures with what they may be.

use std::fmt;

/// What a figure may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Budget {
    /// It is there to compare with.
    None,
    /// Past it the row says so; past twice of it the run fails, since machines and their load differ.
    AtMost(f64),
    /// A count: any other value fails.
    Exactly(f64),
}

#[derive(Debug)]
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    budget: Budget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Plain,
    Ok,
    Over,
    Failed,
}

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn row(&mut self, what: &str, value: f64, unit: &'static str, budget: Budget) {
        self.rows.push(Row { what: what.to_owned(), value, unit, budget });
    }

    /// Rows that fail the run.
    pub(crate) fn failed(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict() == Verdict::Failed).count()
    }
}

impl Row {
    fn verdict(&self) -> Verdict {
        match self.budget {
            Budget::None => Verdict::Plain,
            Budget::AtMost(most) if self.value <= most => Verdict::Ok,
            Budget::AtMost(most) if self.value <= 2.0 * most => Verdict::Over,
            // A count is a whole number: there is nothing between equal and different.
            Budget::Exactly(wanted) if (self.value - wanted).abs() < 0.5 => Verdict::Ok,
            Budget::AtMost(_) | Budget::Exactly(_) => Verdict::Failed,
        }
    }
}

fn figure(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else if value < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.1}")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
        for row in &self.rows {
            let budget = match row.budget {
                Budget::None => String::new(),
                Budget::AtMost(most) => format!("≤ {}", figure(most)),
                Budget::Exactly(wanted) => format!("= {}", figure(wanted)),
            };
            let verdict = match row.verdict() {
                Verdict::Plain => "",
                Verdict::Ok => "ok",
                Verdict::Over => "over",
                Verdict::Failed => "FAILED",
            };
            let value = figure(row.value);
            writeln!(f, "{:width$}  {value:>9} {:4} {budget:>9}  {verdict}", row.what, row.unit)?;
        }
        let count = |wanted| self.rows.iter().filter(|row| row.verdict() == wanted).count();
        let (ok, over) = (count(Verdict::Ok) + count(Verdict::Over), count(Verdict::Over));
        writeln!(f, "{ok} passed, {} failed, {over} over their budget", self.failed())
    }
}
