//! What stands in `${...}`: a name, date steps behind it, and a format after a colon.

use super::expr::{Base, Expr, Form, Move, Outside, Time};
use super::pattern::Pattern;
use crate::model::Problem;

/// Most date steps in one placeholder, and the largest number in one.
const MAX_MOVES: usize = 16;
const MAX_NUMBER: i64 = 1_000_000;

/// The names of times: where they start, what is done to them, and how they look unless told.
const NAMES: &[(&str, Base, &[Move], Look)] = &[
    ("today", Base::Nominal, &[], Look::Date),
    ("yesterday", Base::Nominal, &[Move::Days(-1)], Look::Date),
    ("tomorrow", Base::Nominal, &[Move::Days(1)], Look::Date),
    ("biz_date", Base::BizDate, &[], Look::Date),
    ("interval_start", Base::IntervalStart, &[], Look::Instant),
    ("interval_end", Base::IntervalEnd, &[], Look::Instant),
    ("nominal_at", Base::Nominal, &[], Look::Instant),
    // Of the business date, because that is the day the data belongs to.
    ("month_start", Base::BizDate, &[Move::MonthStart], Look::Date),
    ("month_end", Base::BizDate, &[Move::MonthEnd], Look::Date),
    ("week_start", Base::BizDate, &[Move::WeekStart], Look::Date),
    ("week_end", Base::BizDate, &[Move::WeekEnd], Look::Date),
    ("quarter_start", Base::BizDate, &[Move::QuarterStart], Look::Date),
    ("quarter_end", Base::BizDate, &[Move::QuarterEnd], Look::Date),
    ("year_start", Base::BizDate, &[Move::YearStart], Look::Date),
    ("year_end", Base::BizDate, &[Move::YearEnd], Look::Date),
    // DolphinScheduler's: its business date is the day before the nominal date, whatever ours is.
    ("system.biz.date", Base::Nominal, &[Move::Days(-1)], Look::Text("yyyyMMdd")),
    ("system.biz.curdate", Base::Nominal, &[], Look::Text("yyyyMMdd")),
    ("system.datetime", Base::Nominal, &[], Look::Text("yyyyMMddHHmmss")),
];

/// What may follow a name of a time after a dot: `${biz_date.month_start}`.
const PARTS: &[(&str, Move)] = &[
    ("month_start", Move::MonthStart),
    ("month_end", Move::MonthEnd),
    ("week_start", Move::WeekStart),
    ("week_end", Move::WeekEnd),
    ("quarter_start", Move::QuarterStart),
    ("quarter_end", Move::QuarterEnd),
    ("year_start", Move::YearStart),
    ("year_end", Move::YearEnd),
];

#[derive(Clone, Copy)]
enum Look {
    Date,
    Instant,
    Text(&'static str),
}

/// Reads what stands between the braces.
pub(super) fn parse(body: &str, names: &[&str]) -> Result<Expr, Problem> {
    let body = body.trim();
    if let Some(outside) = outside(body, names)? {
        return Ok(Expr::Outside(outside));
    }
    let (head, format) = match body.split_once(':') {
        Some((head, format)) => (head, Some(format)),
        None => (body, None),
    };
    let end = head.find(|c: char| !is_name_char(c)).unwrap_or(head.len());
    let (name, steps) = head.split_at(end);
    let (base, mut moves, look) = time(name).ok_or_else(|| unknown(name, body, names))?;
    read_steps(steps, base, &mut moves)?;
    let pattern = match (format, look) {
        (Some(format), _) => Pattern::parse(format)?,
        (None, Look::Date) => Pattern::date(),
        (None, Look::Instant) => Pattern::instant(),
        (None, Look::Text(text)) => Pattern::parse(text)?,
    };
    Ok(Expr::Time(Time { base, moves, form: Form::Pattern(pattern) }))
}

/// `params.x`, `result.task`, `secret:NAME`, and the caller's names.
fn outside(body: &str, names: &[&str]) -> Result<Option<Outside>, Problem> {
    let (prefix, key) = match body.split_once(['.', ':']) {
        Some((_, key)) => body.split_at(body.len() - key.len()),
        None => ("", body),
    };
    let kind = match prefix {
        "params." => Outside::Param,
        "result." => Outside::Result,
        "secret:" => Outside::Secret,
        _ => return Ok(names.contains(&body).then(|| Outside::Name(body.to_owned()))),
    };
    // Keys are letters of any script, digits, `_`, `-` and `.`, as everywhere.
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if key.is_empty() || key.chars().count() > 128 || !key.chars().all(fits) {
        let message = format!("`{prefix}` needs a plain name behind it");
        return Err(Problem::new("syntax", "", message));
    }
    Ok(Some(kind(key.to_owned())))
}

fn time(name: &str) -> Option<(Base, Vec<Move>, Look)> {
    let find = |name: &str| NAMES.iter().find(|(known, ..)| *known == name);
    if let Some((_, base, moves, look)) = find(name) {
        return Some((*base, moves.to_vec(), *look));
    }
    let (head, part) = name.rsplit_once('.')?;
    let (_, base, moves, _) = find(head)?;
    let (_, part) = PARTS.iter().find(|(known, _)| *known == part)?;
    let mut moves = moves.to_vec();
    moves.push(*part);
    Some((*base, moves, Look::Date))
}

/// ` - 1d`, `-1M+2w`.
fn read_steps(text: &str, base: Base, moves: &mut Vec<Move>) -> Result<(), Problem> {
    let refuse = |text: &str| {
        let shown: String = text.trim().chars().take(30).collect();
        Problem::new("syntax", "", format!("`{shown}` is no date step"))
            .hint("such as `- 1d`; units d, w, M (month), y, and h, m for times")
    };
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let sign = match rest.as_bytes()[0] {
            b'-' => -1,
            b'+' => 1,
            _ => return Err(refuse(rest)),
        };
        let number = rest[1..].trim_start();
        let end = number.find(|c: char| !c.is_ascii_digit()).ok_or_else(|| refuse(rest))?;
        let n = number[..end].parse::<i64>().ok().filter(|n| *n <= MAX_NUMBER);
        let n = sign * n.ok_or_else(|| refuse(rest))?;
        let unit = number[end..].chars().next();
        if !base.is_instant() && matches!(unit, Some('h' | 'm')) {
            return Err(refuse(rest).hint("a date has no hours; use interval_start or nominal_at"));
        }
        moves.push(match unit {
            Some('d') => Move::Days(n),
            Some('w') => Move::Days(n * 7),
            Some('M') => Move::Months(n as i32),
            Some('y') => Move::Months(n as i32 * 12),
            Some('h') => Move::Seconds(n * 3600),
            Some('m') => Move::Seconds(n * 60),
            _ => return Err(refuse(rest)),
        });
        if moves.len() > MAX_MOVES {
            return Err(refuse(rest));
        }
        rest = number[end + 1..].trim_start();
        if rest.starts_with(is_name_char) {
            return Err(refuse(text));
        }
    }
    Ok(())
}

fn unknown(name: &str, body: &str, names: &[&str]) -> Problem {
    let shown: String = if name.is_empty() { body } else { name }.chars().take(60).collect();
    let problem = Problem::new("unknown_name", "", format!("`{shown}` is not a known name"));
    let wanted = shown.to_ascii_lowercase();
    let known = NAMES.iter().map(|(known, ..)| *known).chain(names.iter().copied());
    let nearest = known
        .map(|known| (strsim::damerau_levenshtein(known, &wanted), known))
        .min_by_key(|(distance, known)| (*distance, known.len()));
    match nearest {
        Some((distance, known)) if distance <= 2 => problem.hint(format!("did you mean {known}?")),
        _ => problem.hint(format!(
            "a parameter is `${{params.{shown}}}`, a variable of the shell `$${{{shown}}}`"
        )),
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}
