//! JSON Lines have the fields that the book's page names, on every verb, no more and no fewer. The page itself is made
//! from the types of the lines.

use crate::run::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../../../docs/book/src/json.md");

/// One form of a line: its fields, and those that may be missing.
#[derive(Default, Debug)]
struct Form {
    fields: BTreeSet<String>,
    optional: BTreeSet<String>,
    seen: bool,
    /// Said only where there is a GPU.
    on_gpu: bool,
}

/// Verb and type of a line to its forms.
type Schema = BTreeMap<(String, String), Vec<Form>>;

fn read_page() -> Schema {
    let (mut schema, mut verb, mut kind) = (Schema::new(), String::new(), String::new());
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            verb = heading.into();
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, first, field, _, _] = cells[..] else { continue };
        let Some(field) = field.strip_prefix('`').and_then(|f| f.strip_suffix('`')) else { continue };
        if let Some(named) = first.split('`').nth(1) {
            kind = named.into();
            schema
                .entry((verb.clone(), kind.clone()))
                .or_default()
                .push(Form { on_gpu: first.contains("(GPU"), ..Form::default() });
        }
        let form = schema.get_mut(&(verb.clone(), kind.clone())).unwrap().last_mut().unwrap();
        match field.strip_suffix('?') {
            Some(field) => form.optional.insert(field.into()),
            None => form.fields.insert(field.into()),
        };
    }
    schema
}

/// Whether lines of a verb are as the book says: asked of every line that any test reads.
pub(crate) fn as_documented(verb: &str, lines: &[Value]) {
    look(&mut read_page(), verb, lines);
}

fn look(schema: &mut Schema, verb: &str, lines: &[Value]) {
    assert!(!lines.is_empty(), "{verb} says nothing");
    for line in lines {
        let object = line.as_object().unwrap();
        let kind = object["type"].as_str().unwrap();
        let forms = schema
            .get_mut(&(verb.to_string(), kind.to_string()))
            .unwrap_or_else(|| panic!("{verb}: lines of type `{kind}` are not in the book: {line}"));
        let has: BTreeSet<String> = object.keys().filter(|k| *k != "type").cloned().collect();
        let fits = |f: &Form| {
            f.fields.is_subset(&has) && has.iter().all(|k| f.fields.contains(k) || f.optional.contains(k))
        };
        match forms.iter_mut().find(|f| fits(f)) {
            Some(form) => form.seen = true,
            None => panic!("{verb}, `{kind}`: {has:?} is not what the book says: {forms:?}"),
        }
    }
}

#[test]
fn lines_are_as_the_book_says() {
    let mut schema = read_page();
    assert!(schema.len() > 25, "{}", schema.len());
    let place = Place::new();
    let mut on = |args: &[&str]| {
        let lines = place.json(&[args, &["-q"]].concat());
        look(&mut schema, args[0], &lines);
    };
    on(&[
        "train", "data.csv", "--target", "y", "-o", "run", "--epochs", "3", "--hidden", "8", "--test", "0.2",
    ]);
    on(&["train", "data.csv", "--target", "y", "--single", "-o", "single"]);
    let classes = ["train", "classes.csv", "--target", "kind", "--classes", "-o", "kinds"];
    on(&[&classes[..], &["--epochs", "3", "--test", "0.2"]].concat());
    // Rows that stand there ten times are noticed.
    let row = |i: usize| format!("{},{}\n", i % 30, (i % 30 * 7) % 11);
    place.write("often.csv", &format!("a,y\n{}", (0..300).map(row).collect::<String>()));
    on(&["train", "often.csv", "--target", "y", "--single", "-o", "often"]);
    on(&["train", "digits", "--limit", "100", "--epochs", "1", "--net", "mlp", "-o", "digits"]);
    on(&["predict", "run", "data.csv"]);
    on(&["predict", "kinds", "classes.csv"]);
    on(&["learn", "run", "data.csv", "--score"]);
    on(&["learn", "kinds", "classes.csv", "--score"]);
    on(&["condition", "run", "--given", "a=0.5", "--want", "y=31±0.1"]);
    on(&["evaluate", "run", "data.csv"]);
    on(&["evaluate", "kinds", "classes.csv"]);
    on(&["evaluate", "digits", "--ood", "digits", "--limit", "20"]);
    on(&["inspect", "run"]);
    on(&["importance", "single", "--repeats", "2"]);
    on(&["attack", "digits", "--images", "1", "--transfer", "digits", "--curve", "linf:0.3"]);
    on(&["optimize", "--objective", "x^2", "--bounds", "-1:1", "--evaluations", "6"]);
    on(&["optimize", "--ask", "search.json", "--bounds", "-1:1"]);
    on(&["optimize", "--tell", "search.json", "--value", "1"]);
    on(&["rl", "pendulum", "--steps", "1024", "-o", "rod"]);
    on(&["rl", "play", "rod", "--episodes", "1"]);
    on(&["report", "rod"]);
    on(&["bench", "--seconds", "0.01"]);
    // Read by tests of their own; and what needs the network, or MuJoCo.
    let elsewhere = ["demo", "data", "mujoco"];
    let unseen = |(verb, _): &(String, String), forms: &[Form]| {
        !elsewhere.contains(&&verb[..]) && forms.iter().any(|f| !f.seen && !f.on_gpu)
    };
    let unseen: Vec<_> = schema.iter().filter(|(k, f)| unseen(k, f)).map(|(k, _)| k).collect();
    assert!(unseen.is_empty(), "in the book, but no verb said it: {unseen:?}");
}
