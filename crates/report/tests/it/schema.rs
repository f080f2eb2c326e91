//! `results.json` and its committed schema agree.

use crate::sample;
use changeling_report::results::{Bound, Results, ResultsError, Versions};
use serde_json::{Value, json};

fn schema() -> jsonschema::Validator {
    let text = include_str!("../../../../schemas/results.schema.json");
    let schema: Value = serde_json::from_str(text).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn check(value: &Value) {
    let errors: Vec<String> = schema()
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn full_and_empty_results_are_valid() {
    check(&serde_json::from_str(&sample::results().to_json()).unwrap());
    let empty = Results::new(Bound::default(), Versions::default());
    check(&serde_json::from_str(&empty.to_json()).unwrap());
}

#[test]
fn what_is_not_results_is_not_valid() {
    let valid = serde_json::to_value(sample::results()).unwrap();
    let schema = schema();
    let mut broken = Vec::new();
    for key in [
        "format",
        "verdict",
        "bound",
        "stats",
        "differences",
        "suspected",
    ] {
        let mut value = valid.clone();
        value.as_object_mut().unwrap().remove(key);
        broken.push((key.to_owned(), value));
    }
    for (pointer, wrong) in [
        ("/format", json!(2)),
        ("/verdict", json!("maybe")),
        ("/stats/runs", json!(-1)),
        ("/differences/0/kind", json!("strange")),
        ("/differences/0/base", json!({"stdout": "", "stderr": ""})),
        (
            "/differences/0/base",
            json!({"stdout": "", "stderr": "", "exit": 0, "signal": 9}),
        ),
        ("/differences/0/changes/0/lines", json!([1])),
        ("/differences/0/surprise", json!(1)),
    ] {
        let mut value = valid.clone();
        match value.pointer_mut(pointer) {
            Some(place) => *place = wrong,
            None => value["differences"][0]["surprise"] = wrong,
        }
        broken.push((pointer.to_owned(), value));
    }
    for (what, value) in broken {
        assert!(!schema.is_valid(&value), "{what}");
    }
}

#[test]
fn results_are_read_back() {
    let results = sample::results();
    assert_eq!(Results::from_json(&results.to_json()).unwrap(), results);
}

#[test]
fn scripts_find_the_stable_names() {
    let value = serde_json::to_value(sample::results()).unwrap();
    assert_eq!(value["verdict"], "differences");
    for name in [
        "runs",
        "queries",
        "unknown",
        "pairs",
        "concretizations",
        "seconds",
        "runs_to_first_difference",
        "seconds_to_first_difference",
    ] {
        assert!(value["stats"][name].is_number(), "{name}");
    }
    let first = &value["differences"][0];
    assert_eq!(first["id"], "0001");
    assert_eq!(first["kind"], "crash");
    assert_eq!(first["case"], "cases/0001-crash");
    assert_eq!(first["base"]["exit"], 0);
    assert_eq!(first["base"]["stdout"], "12 + 30 = 42\n");
    assert_eq!(first["head"]["signal"], 11);
    assert_eq!(first["changes"][0]["file"], "src/parse number.c");
    assert_eq!(first["changes"][0]["lines"], json!([41, 47]));
    assert_eq!(first["group_size"], 7);
    assert!(value["suspected"].is_array());
    assert!(
        value["bound"]["text"]
            .as_str()
            .unwrap()
            .starts_with("stdin of up to 16 bytes")
    );
}

#[test]
fn old_and_damaged_results_are_told_apart() {
    let other = sample::results()
        .to_json()
        .replacen("\"format\": 1", "\"format\": 7", 1);
    assert!(matches!(
        Results::from_json(&other),
        Err(ResultsError::Format { found: 7 })
    ));
    let whole = sample::results().to_json();
    let error = Results::from_json(&whole[..whole.len() / 2]).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[test]
fn exit_codes_are_those_of_the_documentation() {
    use changeling_report::results::Verdict;
    let mut results = sample::results();
    assert_eq!(results.exit_code(), 1);
    results.verdict = Verdict::NoneFound;
    assert_eq!(results.exit_code(), 0);
    results.inconclusive = Some("no run ended".into());
    assert_eq!(results.exit_code(), 3);
    results.verdict = Verdict::CouldNotRun;
    assert_eq!(results.exit_code(), 4);
    results.verdict = Verdict::Equivalent;
    results.inconclusive = None;
    assert_eq!(results.exit_code(), 0);
}
