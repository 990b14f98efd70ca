//! "Did you mean": the known name that is most like an unknown one.

/// Letters compared before we stop guessing: about a tenth of a second. A definition with
/// thousands of wrong names has one cause, and its author needs no guess for each.
const EFFORT: usize = 20_000_000;

/// Finds the nearest of some names, and gives up politely when asked too often.
pub struct Nearest<'a> {
    names: &'a [&'a str],
    folded: Vec<String>,
    effort: usize,
}

impl<'a> Nearest<'a> {
    /// A search among these names.
    pub fn new(names: &'a [&'a str]) -> Self {
        Nearest { names, folded: Vec::new(), effort: EFFORT }
    }

    /// The name at the least distance: one slip (a letter missing, wrong, added, or two swapped)
    /// for every three letters, letter case aside. Among equals the one with more of its
    /// beginning in common, then the first.
    pub fn find(&mut self, wanted: &str) -> Option<&'a str> {
        if self.folded.len() != self.names.len() {
            self.folded = self.names.iter().map(|name| name.to_lowercase()).collect();
        }
        let wanted = wanted.to_lowercase();
        let letters = wanted.chars().count();
        let mut best: Option<(usize, f64, &'a str)> = None;
        for (name, folded) in self.names.iter().zip(&self.folded) {
            let others = folded.chars().count();
            let allowed = (letters.min(others) / 3).max(1);
            if letters.abs_diff(others) > allowed {
                continue;
            }
            self.effort = self.effort.checked_sub(letters * others)?;
            let distance = strsim::osa_distance(&wanted, folded);
            // Two names of one letter each are always one slip apart and never alike.
            if distance > allowed || distance >= letters.max(others) {
                continue;
            }
            let alike = strsim::jaro_winkler(&wanted, folded);
            if best.is_none_or(|(least, most, _)| {
                distance < least || (distance == least && alike > most)
            }) {
                best = Some((distance, alike, name));
            }
        }
        best.map(|(_, _, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::Nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["clean", "load", "settle", "order.settle", "Report", "订单"];
        for (wanted, want) in [
            ("claen", Some("clean")),
            ("clean2", Some("clean")),
            ("SETTLE", Some("settle")),
            ("order.setle", Some("order.settle")),
            ("report", Some("Report")),
            ("lod", Some("load")),
            ("订单表", Some("订单")),
            ("extract", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(Nearest::new(&names).find(wanted), want, "{wanted}");
        }
    }

    #[test]
    fn many_wrong_names_end_in_silence_not_in_a_long_wait() {
        let owned: Vec<String> = (0..20_000).map(|i| format!("warehouse_table_{i:05}")).collect();
        let names: Vec<&str> = owned.iter().map(String::as_str).collect();
        let mut nearest = Nearest::new(&names);
        assert_eq!(nearest.find("warehouse_tabel_00017"), Some("warehouse_table_00017"));
        assert!((0..1_000).any(|_| nearest.find("warehouse_tabel_00017").is_none()));
    }
}
