//! What a page leads with: how good a run is, and what that means in plain words.

use super::{neat, number, percent, text};
use crate::scores::POINTS;
use serde_json::Value;

/// A score, large, and sentences below it.
pub(super) struct Headline {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) meaning: String,
}

/// Of a training, from its lines about rows that the model had not learned from: those kept apart, or those left out.
pub(super) fn of_training(judged: &[&Value]) -> Vec<Headline> {
    let of = |kind: &str| judged.iter().filter(|l| text(l, &["type"]) == Some(kind)).collect::<Vec<_>>();
    let test = of("test");
    let lines = if test.is_empty() { of("left_out") } else { test };
    lines.into_iter().filter_map(|line| of_line(line)).collect()
}

fn of_line(line: &Value) -> Option<Headline> {
    let (rows, what) = match number(line, &["images"]) {
        Some(images) => (images, "images"),
        None => (number(line, &["rows"])?, "rows"),
    };
    let seen = format!("{rows:.0} {what} that it had not learned from");
    let target = text(line, &["target"]).unwrap_or("the class");
    if let Some(wrong) = number(line, &["error_rate"]) {
        let held = match text(line, &["verdict"]) {
            Some("hold") => number(line, &["confidence"]).map_or(String::new(), |says| match Off::of(1.0 - wrong, says) {
                Off::No => " It is right as often as it says.".into(),
                Off::Little => " It is right about as often as it says.".into(),
                Off::ByChance => format!(
                    " It says that it is right in {} of cases; with {rows:.0} {what} the difference can be chance.",
                    percent(says)
                ),
            }),
            Some("too_sure") => " It is right less often than it says.".into(),
            Some("not_sure_enough") => " It is right more often than it says.".into(),
            _ => String::new(),
        };
        return Some(Headline {
            name: format!("of {target} is wrong"),
            value: percent(wrong),
            meaning: format!(
                "The model was asked about {seen}, and {} of its answers are wrong.{held}",
                percent(wrong)
            ),
        });
    }
    let rmse = number(line, &["rmse"])?;
    let inside = number(line, &["coverage_90"]).map_or(String::new(), |share| {
        let held = match text(line, &["verdict"]) {
            Some("too_sure") => ", fewer than should: it is too sure".into(),
            Some("not_sure_enough") => ", more than should: it could be surer".into(),
            Some("hold") => match Off::of(share, 0.9) {
                Off::No => ", as they should".into(),
                Off::Little => ", which is close".into(),
                Off::ByChance => format!("; with {rows:.0} {what} the difference can be chance"),
            },
            _ => String::new(),
        };
        format!(
            " {} of the values lie inside the interval that should hold 90 % of them{held}.",
            percent(share)
        )
    });
    Some(Headline {
        name: format!("typical error of {target}"),
        value: neat(rmse),
        meaning: format!(
            "Predictions for {seen} are off by about {}, in the units of {target} (root mean squared error).{inside}",
            neat(rmse)
        ),
    })
}

/// How far a share that holds is from the promised one.
enum Off {
    /// Not as percents are read.
    No,
    Little,
    /// More than a little, but of few rows.
    ByChance,
}

impl Off {
    fn of(share: f64, promised: f64) -> Self {
        match (share - promised).abs() {
            ..0.005 => Off::No,
            off if off <= POINTS => Off::Little,
            _ => Off::ByChance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_score_says_what_it_means() {
        let left_out =
            json!({"type": "left_out", "target": "price", "rows": 9, "rmse": 2.5, "coverage_90": 0.9});
        let test = json!({"type": "test", "target": "price", "rows": 7, "rmse": 3.0, "verdict": "too_sure", "coverage_90": 0.5});
        let [first] = &of_training(&[&left_out])[..] else { panic!("one target") };
        assert_eq!((&first.value[..], &first.name[..]), ("2.5", "typical error of price"));
        assert!(first.meaning.contains("9 rows that it had not learned from are off by about 2.5"));
        let [first] = &of_training(&[&left_out, &test])[..] else { panic!("rows kept apart count for more") };
        assert!(first.meaning.contains("fewer than should"), "{}", first.meaning);
        let images = json!({"type": "test", "images": 100, "error_rate": 0.02});
        assert!(of_training(&[&images])[0].meaning.contains("2.00 % of its answers are wrong"));
        assert!(of_training(&[]).is_empty());
    }

    #[test]
    fn what_holds_is_said_as_far_as_it_is_true() {
        let says = |line: Value| of_training(&[&line])[0].meaning.clone();
        let values = |share: f64| {
            says(json!({"type": "test", "rows": 40, "rmse": 3.0, "verdict": "hold", "coverage_90": share}))
        };
        assert!(values(0.904).contains("hold 90 % of them, as they should."), "{}", values(0.904));
        assert!(values(0.906).contains("hold 90 % of them, which is close."), "{}", values(0.906));
        assert!(values(0.939).contains("which is close"), "{}", values(0.939));
        let chance = values(0.975);
        assert!(chance.contains("of them; with 40 rows the difference can be chance."), "{chance}");
        let classes = |says_right: f64| {
            says(
                json!({"type": "test", "rows": 40, "error_rate": 0.1, "verdict": "hold", "confidence": says_right}),
            )
        };
        assert!(classes(0.901).ends_with("It is right as often as it says."), "{}", classes(0.901));
        assert!(classes(0.92).ends_with("It is right about as often as it says."), "{}", classes(0.92));
        let chance = classes(0.96);
        assert!(
            chance.ends_with("in 96.00 % of cases; with 40 rows the difference can be chance."),
            "{chance}"
        );
    }
}
