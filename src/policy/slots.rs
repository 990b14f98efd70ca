//! Which candidates start: slots of pools, limits and tasks, handed out in strict order.
//!
//! Pool, named limit and `max_active` are one thing here, a [`Gate`] with a number of slots. A
//! gate that refuses a candidate closes to all behind it, else a task that needs four slots
//! would wait for ever beside a stream of tasks that need one. Other gates stay open: a full
//! pool never holds up another pool.

/// A number of slots and how many are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// How many there are.
    pub capacity: u32,
    /// How many are held; more than the capacity after it was made smaller.
    pub used: u32,
}

impl Gate {
    /// What is left, never below zero.
    #[must_use]
    pub const fn free(&self) -> u32 {
        self.capacity.saturating_sub(self.used)
    }
}

/// What a candidate needs of one gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The gate, by its position.
    pub gate: usize,
    /// How many of its slots.
    pub weight: u32,
}

/// Who starts. Both lists hold positions of candidates, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// These start.
    pub start: Vec<usize>,
    /// These cannot start before a gate grows: they need more than its whole capacity, or a gate
    /// that is not there. They close nothing, since waiting for them would be for ever.
    pub impossible: Vec<usize>,
}

/// Lets candidates in, which come in the order of their keys.
///
/// The claims of a candidate are looked at in order up to the first that cannot be met, and only
/// that gate closes. Put the narrow ones first (the task's own, then named limits, the pool
/// last), so that a task which must wait for itself keeps no slot of its pool empty.
#[must_use]
pub fn admit<C: AsRef<[Claim]>>(gates: &[Gate], candidates: &[C]) -> Admission {
    // None: closed to whoever comes later.
    let mut free: Vec<Option<u32>> = gates.iter().map(|gate| Some(gate.free())).collect();
    let mut admission = Admission::default();
    for (at, candidate) in candidates.iter().enumerate() {
        let claims = candidate.as_ref();
        if !claims.iter().all(|claim| could_ever(gates, claim)) {
            admission.impossible.push(at);
        } else if take(&mut free, claims) {
            admission.start.push(at);
        }
    }
    admission
}

/// Which candidates of one pool start: [`admit`] with the pool as the only gate.
#[must_use]
pub fn admit_pool(pool: Gate, weights: &[u32]) -> Admission {
    let claims: Vec<[Claim; 1]> =
        weights.iter().map(|&weight| [Claim { gate: 0, weight }]).collect();
    admit(&[pool], &claims)
}

fn could_ever(gates: &[Gate], claim: &Claim) -> bool {
    gates.get(claim.gate).is_some_and(|gate| claim.weight <= gate.capacity)
}

/// Takes all claims or none; the gate that refused is closed.
fn take(free: &mut [Option<u32>], claims: &[Claim]) -> bool {
    for (met, claim) in claims.iter().enumerate() {
        let gate = &mut free[claim.gate];
        match gate.and_then(|left| left.checked_sub(claim.weight)) {
            Some(left) => *gate = Some(left),
            None => {
                *gate = None;
                for back in &claims[..met] {
                    if let Some(left) = &mut free[back.gate] {
                        *left += back.weight;
                    }
                }
                return false;
            }
        }
    }
    true
}
