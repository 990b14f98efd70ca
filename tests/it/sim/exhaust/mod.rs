//! Every state of small worlds: all orders in which attempts end, messages come twice or late,
//! processes die and people interfere, breadth first over the real engine.
//!
//! A story of the simulator takes one way through a large world; here all ways through a small one
//! are taken, so what is not found is not there. A state is known by its fingerprint, and each is
//! gone on from once. `MAINSPRING_STATES=1000000 cargo test sim::exhaust` visits that many states of
//! each world instead of the first few.

mod acts;
mod fingerprint;
mod naive;
mod node;
mod planted;
mod small;

use std::collections::{BTreeMap, VecDeque};

use acts::{Act, Small, choices};
use node::Node;
use planted::Fault;

/// States of each world that are visited where nobody asks for more.
const FEW: usize = 20_000;
/// More steps than this does no world need to come to its end when nothing goes wrong any more.
const LONGEST: usize = 300;
/// Of so many states at the edge of a search that was not finished, one is followed to its end.
const SAMPLE: usize = 32;

/// Of so many ways to a state that was known already, one is gone on from as well, to see whether
/// what has the same fingerprint goes on alike.
const TWINS: u64 = 256;

/// Where a state goes when nothing goes wrong from there on: not known, and nowhere.
const UNKNOWN: u32 = u32::MAX;
const END: u32 = u32::MAX - 1;

/// What was seen of a world.
struct Seen {
    states: usize,
    transitions: u64,
    /// Steps from the first state to the last one found.
    deepest: usize,
    /// Whether there are no others.
    complete: bool,
    /// Steps from the state that is farthest from an end, if nothing goes wrong.
    farthest: usize,
}

struct Search<'s> {
    small: &'s Small,
    fault: Fault,
    known: BTreeMap<u64, u32>,
    /// How each state was reached first: from which one, by which of its choices.
    from: Vec<(u32, u16)>,
    /// Where each goes when nothing goes wrong.
    goes: Vec<u32>,
    /// What each can go to.
    nexts: Vec<u64>,
    /// States with the fingerprint of one that was known.
    twins: Vec<(u32, Node)>,
    transitions: u64,
}

/// Visits the states of a world, at most so many.
///
/// What is wrong begins with the name of the checker and ends with the way there.
fn search(small: &Small, fault: Fault, most: usize) -> Result<Seen, String> {
    let mut search = Search {
        small,
        fault,
        known: BTreeMap::new(),
        from: vec![(0, 0)],
        goes: vec![UNKNOWN],
        nexts: vec![0],
        twins: Vec::new(),
        transitions: 0,
    };
    let first = Node::first(small);
    search.known.insert(fingerprint::of(small, &first), 0);
    let mut layer = VecDeque::from([(0, first)]);
    let (mut deepest, mut complete) = (0, true);
    while complete && !layer.is_empty() {
        let mut next = VecDeque::new();
        while let Some((id, node)) = layer.pop_front() {
            if search.known.len() >= most {
                layer.push_front((id, node));
                complete = false;
                break;
            }
            search.expand(id, &node, &mut next)?;
        }
        deepest += usize::from(!next.is_empty());
        layer.append(&mut next);
    }
    let mut farthest = search.distances()?;
    search.twins()?;
    for (id, node) in layer.into_iter().step_by(SAMPLE) {
        let steps = search.follow(node).map_err(|wrong| search.told(wrong, id, None))?;
        farthest = farthest.max(steps);
    }
    let (states, transitions) = (search.known.len(), search.transitions);
    Ok(Seen { states, transitions, deepest, complete, farthest })
}

impl Search<'_> {
    /// Goes on from a state in every way there is.
    fn expand(
        &mut self,
        id: u32,
        node: &Node,
        next: &mut VecDeque<(u32, Node)>,
    ) -> Result<(), String> {
        let choices = choices(self.small, node);
        if !choices.iter().any(|choice| choice.plain) {
            self.goes[id as usize] = END;
            node.check_end(self.small).map_err(|wrong| self.told(wrong, id, None))?;
        }
        let mut nexts = Vec::new();
        for (nth, choice) in (0u16..).zip(&choices) {
            let stepped = node.step(self.small, self.fault, choice);
            let stepped = stepped.map_err(|wrong| self.told(wrong, id, Some(nth)))?;
            let Some(after) = stepped else { continue };
            self.transitions += 1;
            let fresh = self.known.len() as u32;
            let print = fingerprint::of(self.small, &after);
            nexts.push(print);
            let at = *self.known.entry(print).or_insert(fresh);
            if choice.plain && self.goes[id as usize] == UNKNOWN {
                self.goes[id as usize] = at;
            }
            if at == fresh {
                after
                    .check(self.small, self.fault)
                    .map_err(|wrong| self.told(wrong, id, Some(nth)))?;
                self.from.push((id, nth));
                self.goes.push(UNKNOWN);
                self.nexts.push(0);
                next.push_back((at, after));
            } else if self.transitions.is_multiple_of(TWINS) && at != id {
                self.twins.push((at, after));
            }
        }
        self.nexts[id as usize] = fingerprint::of_all(nexts);
        if self.goes[id as usize] == UNKNOWN {
            return Err(self.told("liveness: nothing that is left to do does it".into(), id, None));
        }
        Ok(())
    }

    /// How far from an end the farthest state is: from each of them one is reached.
    fn distances(&self) -> Result<usize, String> {
        let mut far = vec![0usize; self.goes.len()];
        for start in 0..self.goes.len() as u32 {
            let mut way = Vec::new();
            let mut at = start;
            // An end, or what is farther than an end, or where the search stopped.
            while self.goes[at as usize] < END && far[at as usize] == 0 {
                way.push(at);
                if way.len() > LONGEST {
                    let wrong = format!("liveness: no end in {LONGEST} steps");
                    return Err(self.told(wrong, start, None));
                }
                at = self.goes[at as usize];
            }
            let mut steps = far[at as usize];
            for at in way.into_iter().rev() {
                steps += 1;
                far[at as usize] = steps;
            }
        }
        Ok(far.into_iter().max().unwrap_or(0))
    }

    /// What has the same fingerprint can go to the same states.
    fn twins(&self) -> Result<(), String> {
        for (id, twin) in &self.twins {
            let is_expanded = self.goes[*id as usize] != UNKNOWN;
            let nexts = if is_expanded { self.nexts(twin)? } else { BTreeMap::new() };
            let all = fingerprint::of_all(nexts.keys().copied().collect());
            if !is_expanded || all == self.nexts[*id as usize] {
                continue;
            }
            let first = self.nexts(&self.at(*id))?;
            let only = |of: &BTreeMap<u64, String>, other: &BTreeMap<u64, String>| {
                let only = of.iter().filter(|(print, _)| !other.contains_key(print));
                only.map(|(_, act)| format!("\n    {act}")).collect::<String>()
            };
            let (here, there) = (only(&first, &nexts), only(&nexts, &first));
            let wrong = "fingerprint: another state with the same goes on otherwise";
            let wrong = format!("{wrong}; here:{here}\n  there:{there}");
            return Err(self.told(wrong, *id, None));
        }
        Ok(())
    }

    /// The states that a state goes to, each with what leads there.
    fn nexts(&self, node: &Node) -> Result<BTreeMap<u64, String>, String> {
        let mut nexts = BTreeMap::new();
        for choice in choices(self.small, node) {
            if let Some(next) = node.step(self.small, self.fault, &choice)? {
                nexts.insert(fingerprint::of(self.small, &next), choice.act.to_string());
            }
        }
        Ok(nexts)
    }

    /// From a state to an end, while nothing goes wrong any more: how many steps.
    fn follow(&self, mut node: Node) -> Result<usize, String> {
        for steps in 0..LONGEST {
            let mut plain = choices(self.small, &node).into_iter().filter(|choice| choice.plain);
            let mut next = None;
            let mut any = false;
            while let Some(choice) = plain.next().filter(|_| next.is_none()) {
                any = true;
                next = node.step(self.small, self.fault, &choice)?;
            }
            match next {
                Some(next) => node = next,
                None if any => return Err("liveness: nothing that is left to do does it".into()),
                None => return node.check_end(self.small).map(|()| steps),
            }
            node.check(self.small, self.fault)?;
        }
        Err(format!("liveness: no end in {LONGEST} steps"))
    }

    /// What is wrong, with the way there: to a state, and by one of its choices.
    fn told(&self, wrong: String, id: u32, last: Option<u16>) -> String {
        let mut text = format!("{wrong}\n  in {}:", self.small.name);
        self.go(id, last, |act| text.push_str(&format!("\n  {act}")));
        text
    }

    /// A state, by the way it was reached first.
    fn at(&self, id: u32) -> Node {
        self.go(id, None, |_| {})
    }

    fn go(&self, mut id: u32, last: Option<u16>, mut each: impl FnMut(&Act)) -> Node {
        let mut way: Vec<u16> = last.into_iter().collect();
        while id != 0 {
            let (from, nth) = self.from[id as usize];
            way.push(nth);
            id = from;
        }
        let mut node = Node::first(self.small);
        for nth in way.into_iter().rev() {
            let choice = &choices(self.small, &node)[nth as usize];
            each(&choice.act);
            // The last step of the way may be what is wrong.
            if let Ok(Some(next)) = node.step(self.small, self.fault, choice) {
                node = next;
            }
        }
        node
    }
}

#[test]
fn every_state_of_small_worlds_keeps_every_invariant() {
    let most = super::number("MAINSPRING_STATES").map_or(FEW, |most| most as usize);
    let (mut states, mut transitions) = (0, 0);
    for small in small::all() {
        let seen = search(&small, Fault::None, most).unwrap_or_else(|wrong| panic!("{wrong}"));
        println!(
            "{}: {} states, {} transitions, {} deep, at most {} from an end, {}",
            small.name,
            seen.states,
            seen.transitions,
            seen.deepest,
            seen.farthest,
            if seen.complete { "complete" } else { "not complete" },
        );
        assert!(seen.complete || seen.states >= most);
        states += seen.states;
        transitions += seen.transitions;
    }
    println!("{states} states, {transitions} transitions");
}

impl std::fmt::Display for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use mainspring::engine::Event;
        match self {
            Act::Happens(Event::CreateRun(new)) => {
                write!(f, "a run of {} for {}", new.plan.dag, new.biz_date)
            }
            Act::Happens(Event::AttemptEnded(report)) => {
                let (at, result) = (report.at, report.result.as_deref().unwrap_or(""));
                let hung = if report.released { "" } else { ", its thread still runs" };
                write!(f, "run {} task {}: ", at.run, at.index)?;
                write!(f, "attempt {} {} {result}{hung}", report.attempt_no, report.outcome)
            }
            Act::Happens(event) => write!(f, "{event:?}"),
            other => write!(f, "{other:?}"),
        }
    }
}
