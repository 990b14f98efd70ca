//! A plan with what is said of each cell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BackfillId, BackfillPlan, Date, Instant, RunId, Why};

/// A plan, and what there is to see of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The plan itself.
    pub plan: BackfillPlan,
    /// Numbers of the versions of its tasks.
    pub versions: Vec<u32>,
    /// What is said of all cells: a grid for each timetable, dates across and tasks down.
    pub grids: Vec<Grid>,
    /// Cells that others are computing.
    pub conflicts: Vec<Conflict>,
    /// How long it will take.
    pub estimate: Estimate,
    /// When it was computed.
    pub made_at: Instant,
}

/// Cells of the tasks that fire together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// IANA name of the zone of its dates.
    pub timezone: String,
    /// The fires, and the dates that have none.
    pub columns: Vec<Column>,
    /// A task each.
    pub rows: Vec<Row>,
}

/// A fire, or a date that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The instant.
    pub nominal_at: Option<Instant>,
    /// The date.
    pub biz_date: Date,
}

/// The cells of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number in the plan.
    pub task: u32,
    /// The code of what is said of each column; 255 where nothing is.
    #[serde(with = "letters")]
    pub why: Vec<u8>,
}

/// A cell that somebody else is computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// Number of the task in the plan.
    pub task: u32,
    /// The instant.
    pub nominal_at: Instant,
    /// The date.
    pub biz_date: Date,
    /// The run in which it is open.
    pub run: Option<RunId>,
    /// The backfill that has it.
    pub backfill: Option<BackfillId>,
}

/// How long a plan will take, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// As often longer as shorter; none where nothing is known of any task.
    pub p50_ms: Option<i64>,
    /// Longer one time in ten.
    pub p90_ms: Option<i64>,
    /// Tasks of which nothing is known, by their numbers in the plan.
    pub unknown: Vec<u32>,
}

/// Codes as text: a letter, and how often it comes, where that is more than once.
mod letters {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::model::Why;

    /// Where nothing is said.
    const NOTHING: char = '_';

    fn letter(code: u8) -> char {
        Why::from_code(code).map_or(NOTHING, Why::letter)
    }

    pub fn serialize<S: Serializer>(codes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        for same in codes.chunk_by(|a, b| a == b) {
            text.push(letter(same.first().copied().unwrap_or(u8::MAX)));
            if same.len() > 1 {
                text.push_str(&same.len().to_string());
            }
        }
        to.serialize_str(&text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        let mut codes = Vec::new();
        let mut left = text.as_str();
        while let Some(first) = left.chars().next() {
            let why = Why::ALL.iter().find(|why| why.letter() == first);
            let code = match why {
                Some(why) => why.code(),
                None if first == NOTHING => u8::MAX,
                None => return Err(D::Error::custom(format!("`{first}` is no letter of a cell"))),
            };
            left = &left[first.len_utf8()..];
            let digits = left.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = left.split_at(digits);
            let count = if number.is_empty() { Ok(1) } else { number.parse::<u32>() };
            let count = count.map_err(D::Error::custom)?;
            if codes.len() + count as usize > super::LARGEST_ROW {
                return Err(D::Error::custom("a row of a plan has too many cells"));
            }
            codes.extend(std::iter::repeat_n(code, count as usize));
            left = rest;
        }
        Ok(codes)
    }
}

/// Cells of a row of a plan that is read back.
const LARGEST_ROW: usize = 10_000_000;

/// What has changed from a plan to one that was computed later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanDiff {
    /// Whether they answer the same question.
    pub asked: bool,
    /// What changed of the definitions: `orders.clean: version 3 -> 4`.
    pub definitions: Vec<String>,
    /// Cells that only the later one computes: the first so many.
    pub came: Vec<DiffCell>,
    /// How many there are.
    pub came_count: u64,
    /// Cells that only the earlier one computes: the first so many.
    pub went: Vec<DiffCell>,
    /// How many there are.
    pub went_count: u64,
    /// Whether they are the same plan.
    pub same: bool,
}

/// A cell that one of two plans computes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DiffCell {
    /// `dag.task`.
    pub task: String,
    /// The date.
    pub biz_date: Date,
    /// The instant.
    pub nominal_at: Instant,
    /// What the later plan says of it, or the earlier one where the later says nothing.
    pub why: Option<Why>,
}

/// What a plan says of cells, by dag, task and instant.
type CellsSaid<'p> = BTreeMap<((&'p str, &'p str), Instant), (Date, Why)>;

/// So many cells of a difference are named.
const NAMED: usize = 100;

impl Planned {
    /// What has changed from this plan to one that was computed later.
    pub fn diff(&self, later: &Planned) -> PlanDiff {
        let (old, new) = (self.said(), later.said());
        let only = |one: &CellsSaid<'_>, other: &CellsSaid<'_>, is_later: bool| {
            let (mut cells, mut count) = (Vec::new(), 0);
            for (key, (date, why)) in one.iter().filter(|(_, (_, why))| why.is_in()) {
                let there = other.get(key).map(|(_, why)| *why);
                if there.is_some_and(Why::is_in) {
                    continue;
                }
                count += 1;
                if cells.len() < NAMED {
                    cells.push(DiffCell {
                        task: format!("{}.{}", key.0.0, key.0.1),
                        biz_date: *date,
                        nominal_at: key.1,
                        why: there.filter(|_| !is_later).or(Some(*why)),
                    });
                }
            }
            (cells, count)
        };
        let (went, went_count) = only(&old, &new, false);
        let (came, came_count) = only(&new, &old, true);
        PlanDiff {
            asked: self.plan.ask == later.plan.ask,
            definitions: self.changed(later),
            came,
            came_count,
            went,
            went_count,
            same: self.plan.hash == later.plan.hash,
        }
    }

    fn changed(&self, later: &Planned) -> Vec<String> {
        let tasks = |planned: &Planned| {
            let tasks = planned.plan.tasks.iter().zip(&planned.versions);
            let tasks = tasks.map(|(task, number)| {
                (format!("{}.{}", task.dag, task.name), (task.version_id, *number))
            });
            tasks.collect::<BTreeMap<_, _>>()
        };
        let (old, new) = (tasks(self), tasks(later));
        let mut changed = Vec::new();
        for (task, (version, number)) in &old {
            match new.get(task) {
                Some((now, to)) if now != version => {
                    changed.push(format!("{task}: version {number} -> {to}"));
                }
                Some(_) => {}
                None => changed.push(format!("{task} is not part of it any more")),
            }
        }
        let added = new.keys().filter(|task| !old.contains_key(*task));
        changed.extend(added.map(|task| format!("{task} is part of it now")));
        changed
    }

    /// All cells that have an instant.
    fn said(&self) -> CellsSaid<'_> {
        let mut said = CellsSaid::new();
        for grid in &self.grids {
            for row in &grid.rows {
                let Some(task) = self.plan.tasks.get(row.task as usize) else { continue };
                let key = (task.dag.as_str(), task.name.as_str());
                for (column, code) in grid.columns.iter().zip(&row.why) {
                    if let (Some(at), Some(why)) = (column.nominal_at, Why::from_code(*code)) {
                        said.insert((key, at), (column.biz_date, why));
                    }
                }
            }
        }
        said
    }

    /// How many cells there are of each reason, in the order of their codes.
    pub fn counts(&self) -> Vec<(Why, u64)> {
        let mut counts = [0u64; 256];
        for row in self.grids.iter().flat_map(|grid| &grid.rows) {
            row.why.iter().for_each(|code| counts[usize::from(*code)] += 1);
        }
        let with = |why: &Why| (*why, counts[usize::from(why.code())]);
        Why::ALL.iter().map(with).filter(|(_, count)| *count > 0).collect()
    }
}
