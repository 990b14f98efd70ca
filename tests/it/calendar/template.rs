//! Placeholders: names, steps, formats, what the caller supplies, and what is refused.

use mainspring::calendar::{Moment, Outside, Part, Template, Wall, Zone};
use mainspring::model::{Date, Problem};

use super::support::instant;

fn moment() -> Moment {
    Moment {
        at: instant("2024-03-15T02:00:00+08:00"),
        nominal: Wall::parse("2024-03-15T02:00:00").unwrap(),
        biz_date: Date::parse("2024-03-14").unwrap(),
        interval_start: Some(instant("2024-03-14T02:00:00+08:00")),
        interval_end: None,
        zone: Zone::named("Asia/Shanghai").unwrap(),
    }
}

fn lookup(outside: &Outside) -> Result<String, Problem> {
    match outside {
        Outside::Param(name) => Ok(format!("<{name}>")),
        Outside::Result(task) => Ok(format!("result of {task}: ${{today}}")),
        Outside::Secret(name) if name == "DB" => Ok("hunter2".into()),
        Outside::Secret(name) => Err(Problem::new("no_secret", name, "there is no such secret")),
        Outside::Name(name) => Ok(format!("[{name}]")),
    }
}

fn render(text: &str) -> String {
    Template::parse(text, &["run_id"]).unwrap().render(&moment(), &lookup).unwrap()
}

fn refused(text: &str) -> Vec<(&'static str, String)> {
    let error = Template::parse(text, &["run_id"]).unwrap_err();
    error.0.into_iter().map(|p| (p.code, p.hint.unwrap_or_default())).collect()
}

#[test]
fn names_steps_and_formats() {
    for (text, expected) in [
        ("${biz_date}", "2024-03-14"),
        ("${ biz_date - 1d }", "2024-03-13"),
        ("${biz_date-1M:yyyyMM}", "202402"),
        ("${biz_date:%Y%m%d}", "20240314"),
        ("${biz_date + 2w - 1y}", "2023-03-28"),
        ("${biz_date.month_start}", "2024-03-01"),
        ("${biz_date.month_end - 1M}", "2024-02-29"),
        ("${month_end}", "2024-03-31"),
        ("${week_start} ${week_end}", "2024-03-11 2024-03-17"),
        ("${today.quarter_start:yyyy/MM}", "2024/01"),
        ("${interval_start}", "2024-03-14T02:00:00+08:00"),
        ("${interval_end - 90m:HH:mm}", "00:30"),
        ("${nominal_at:yyyy-MM-dd'T'HHXX}", "2024-03-15T02+0800"),
        ("${today:%G-W%V %j}", "2024-W11 075"),
        ("${system.biz.date} ${system.biz.curdate}", "20240314 20240315"),
        ("${system.datetime}", "20240315020000"),
        ("${today:yyyy''MM'o''clock'}", "2024'03oclock"),
        ("$[month_first_day(yyyyMMdd)]", "20240301"),
        ("$[yyyyMMddHHmm-30/24/60]", "202403150130"),
    ] {
        assert_eq!(render(text), expected, "{text}");
    }
}

#[test]
fn the_caller_supplies_the_rest() {
    assert_eq!(render("${params.目标} ${run_id} ${secret:DB}"), "<目标> [run_id] hunter2");
    let template = Template::parse("${secret:NONE}${params.a}", &[]).unwrap();
    assert_eq!(template.render(&moment(), &lookup).unwrap_err().0[0].code, "no_secret");
    let outside: Vec<&Outside> = template.outside().collect();
    assert_eq!(outside, [&Outside::Secret("NONE".into()), &Outside::Param("a".into())]);
}

#[test]
fn what_comes_out_of_a_value_is_never_read_again() {
    assert_eq!(render("${result.a}"), "result of a: ${today}");
}

#[test]
fn doubled_dollars_and_other_dollars_stay() {
    assert_eq!(render("$${HOME} $$[1+2] $HOME $(date) $$ $"), "${HOME} $[1+2] $HOME $(date) $$ $");
    assert_eq!(render("a$${today}b${today}"), "a${today}b2024-03-15");
    assert_eq!(render(""), "");
}

#[test]
fn identifiers_must_be_plain_names() {
    let render = |name: &str| {
        let name = name.to_owned();
        let template = Template::parse("${ident:params.table}", &[]).unwrap();
        template.render(&moment(), &move |_| Ok(name.clone()))
    };
    assert_eq!(render("ods.trip_2024").unwrap(), "ods.trip_2024");
    for bad in ["", "a b", "a;drop", "a.b.c.d", "1a", "a..b", "\"a\"", "表"] {
        assert_eq!(render(bad).unwrap_err().0[0].code, "bad_identifier", "{bad}");
    }
}

#[test]
fn parts_stay_apart_for_renderers() {
    let template = Template::parse("select '${today}' -- $$[x]", &[]).unwrap();
    let [Part::Text(before), Part::Value(value), Part::Text(after)] = template.parts() else {
        panic!("{template:?}")
    };
    assert_eq!(
        (before.as_str(), value.source(), after.as_str()),
        ("select '", "${today}", "' -- $[x]")
    );
}

#[test]
fn everything_wrong_is_told_at_once_with_a_hint() {
    let found = refused("${yesterdy} ${HOME} $[yyyyMMdd - 1] ${biz_date - 3x} ${today");
    let codes: Vec<&str> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["unknown_name", "unknown_name", "syntax", "syntax", "syntax"]);
    assert_eq!(found[0].1, "did you mean yesterday?");
    assert!(found[1].1.contains("$${HOME}"), "{}", found[1].1);
    assert!(found.iter().all(|(_, hint)| !hint.is_empty()));
}

#[test]
fn refuses_what_would_be_wrong_on_some_days() {
    for text in [
        "${today:YYYYMMdd}",
        "${today:yyyyMMDD}",
        "${today:hh}",
        "${today:MMM}",
        "${today:}",
        "${today:%Q}",
        "${today:'open}",
        "${biz_date - 1h}",
        "${biz_date -}",
        "${biz_date 1d}",
        "${biz_date - 1dd}",
        "${biz_date - 99999999d}",
        "${params.}",
        "${params.a b}",
        "$[yyyyMMdd-1/25]",
        "$[add_months(yyyyMMdd,x)]",
        "$[last_day(yyyyMMdd,1)]",
        "$[]",
    ] {
        assert_eq!(refused(text)[0].0, "syntax", "{text}");
    }
    for text in ["${}", "${now}", "${a${today}}", "$[nope(yyyy)]", "${today.month_strt}"] {
        assert_eq!(refused(text)[0].0, "unknown_name", "{text}");
    }
    assert_eq!(refused("$[yyyyMMdd+999*9999]")[0].0, "out_of_range");
}

#[test]
fn a_date_outside_all_years_is_a_problem_and_not_a_crash() {
    let template = Template::parse("${today - 900000d}", &[]).unwrap();
    assert_eq!(template.render(&moment(), &lookup).unwrap_err().0[0].code, "out_of_range");
    let template = Template::parse("$[yyyyMMddHH+1000000*1/24]", &[]).unwrap();
    assert!(template.render(&moment(), &lookup).is_ok());
    let first = Moment { interval_start: None, ..moment() };
    let template = Template::parse("${interval_start}", &[]).unwrap();
    assert_eq!(template.render(&first, &lookup).unwrap_err().0[0].code, "no_interval");
}

#[test]
fn a_run_carried_over_a_gap_keeps_its_nominal_date() {
    let zone = Zone::named("Asia/Pyongyang").unwrap();
    let carried = Moment {
        at: instant("2018-05-05T00:00:00+09:00"),
        nominal: Wall::parse("2018-05-04T23:45:00").unwrap(),
        biz_date: Date::parse("2018-05-03").unwrap(),
        interval_start: None,
        interval_end: None,
        zone,
    };
    let text = "${today} ${yesterday} ${system.datetime} ${interval_end:yyyy-MM-dd}";
    let template = Template::parse(text, &[]).unwrap();
    let got = template.render(&carried, &lookup).unwrap();
    assert_eq!(got, "2018-05-04 2018-05-03 20180504234500 2018-05-05");
}
