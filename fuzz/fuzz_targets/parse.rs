//! Any text is read or refused with a reason; what is read means the same in its canonical form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mainspring::calendar::{BizRule, BusinessCalendar, Cron, Step, Template, Wall, Zone};
use mainspring::model::Date;

fuzz_target!(|text: &str| {
    match Cron::parse(text) {
        Ok(cron) => {
            let canonical = cron.to_string();
            let again = Cron::parse(&canonical).expect("the canonical form is an expression");
            assert!(cron.same_times(&again), "{text:?} became {canonical}");
            assert_eq!(again.to_string(), canonical);
        }
        Err(error) => assert!(!error.0.is_empty()),
    }
    let _ = Template::parse(text, &[]);
    let _ = Step::parse(text);
    let _ = BizRule::parse(text, None);
    let _ = BusinessCalendar::from_ics("fuzz", text);
    let _ = Zone::named(text);
    let _ = Date::parse(text);
    let _ = Wall::parse(text);
});
