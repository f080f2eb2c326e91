//! The HTML report in a real browser: Chromium, found in PATH or named by the
//! environment variable `CHROMIUM`.

use crate::sample;
use changeling_report::html;
use changeling_report::results::{Bound, Results, Stopped, Verdict, Versions};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs in a copy of the page from which the policy was taken, and leaves what
/// it saw in the document's title.
const PROBE: &str = r#"<script>
window.problems = [];
window.addEventListener('error', event => window.problems.push(event.message));
window.addEventListener('load', () => {
  document.querySelectorAll('details').forEach(details => details.open = true);
  const wide = [...document.querySelectorAll('body *')]
    .filter(e => !e.closest('nav') && !e.closest('svg') && e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.tagName + '.' + e.className);
  const small = [...document.querySelectorAll('body *')]
    .filter(e => e.children.length == 0 && e.textContent.trim() && parseFloat(getComputedStyle(e).fontSize) < 11)
    .map(e => e.tagName + '.' + e.className);
  const broken = [...document.querySelectorAll('.settings dt')]
    .filter(e => e.getBoundingClientRect().height > 3 * parseFloat(getComputedStyle(e).fontSize))
    .map(e => e.textContent);
  parent.document.title = 'probe ' + JSON.stringify({
    width: innerWidth, scroll: document.documentElement.scrollWidth, wide, small, broken,
    hacked: typeof window.hacked, scripts: document.scripts.length, problems: window.problems,
    curves: document.querySelectorAll('path.curve').length,
    marks: document.querySelectorAll('mark').length,
    cards: document.querySelectorAll('article').length,
  }) + ' end';
});
</script>"#;

fn chromium(folder: &Path, arguments: &[&str], page: &Path) -> (String, String) {
    let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".into());
    let profile = tempfile::tempdir_in(folder).unwrap();
    let output = Command::new(&program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--enable-logging=stderr",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot run {program}: {error}; set CHROMIUM to a Chromium")
        });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn probe(folder: &Path, results: &Results, width: u32) -> Value {
    let page = html::page(results);
    let start = page.find("<meta http-equiv").unwrap();
    let end = start + page[start..].find('\n').unwrap();
    let page = format!("{}{PROBE}{}", &page[..start], &page[end..]);
    // A window cannot be as narrow as a telephone, but a frame can.
    let frame = format!(
        "<!doctype html><title></title><body style='margin:0'>\
         <iframe style='border:0;width:{width}px;height:900px' srcdoc=\"{}\"></iframe>",
        page.replace('&', "&amp;").replace('"', "&quot;")
    );
    let path = folder.join("frame.html");
    std::fs::write(&path, frame).unwrap();
    let arguments = [
        "--dump-dom",
        "--virtual-time-budget=3000",
        "--window-size=1400,1000",
    ];
    let (dom, log) = chromium(folder, &arguments, &path);
    let start = dom
        .find("<title>probe ")
        .unwrap_or_else(|| panic!("no probe: {log}"))
        + 13;
    let end = start + dom[start..].find(" end</title>").unwrap();
    let json = dom[start..end]
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let seen: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(seen["width"], width);
    seen
}

#[test]
fn the_report_is_readable_and_calm_at_every_width() {
    let folder = tempfile::tempdir().unwrap();
    let results = sample::results();
    // Left there for people to look at.
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(kept.join("report.html"), html::page(&results)).unwrap();
    std::fs::write(kept.join("results.json"), results.to_json()).unwrap();
    for width in [400, 1280] {
        let seen = probe(folder.path(), &results, width);
        assert_eq!(seen["wide"], serde_json::json!([]), "{seen}");
        assert!(
            seen["scroll"].as_u64().unwrap() <= u64::from(width),
            "{seen}"
        );
        assert_eq!(seen["small"], serde_json::json!([]), "{seen}");
        assert_eq!(seen["broken"], serde_json::json!([]), "{seen}");
        assert_eq!(seen["problems"], serde_json::json!([]), "{seen}");
        assert_eq!(
            seen["hacked"], "undefined",
            "a program's output ran as a script"
        );
        assert_eq!(seen["scripts"], 1, "only the probe");
        assert_eq!(seen["cards"], 3);
        assert_eq!(seen["curves"], 2);
        assert!(seen["marks"].as_u64().unwrap() >= 6, "{seen}");
    }
}

#[test]
fn the_page_as_written_logs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut failed = Results::new(Bound::default(), Versions::default());
    failed.verdict = Verdict::CouldNotRun;
    failed.stopped = Stopped::Error;
    failed.error = Some(sample::HOSTILE.into());
    for results in [sample::results(), failed] {
        let path = folder.path().join("report.html");
        std::fs::write(&path, html::page(&results)).unwrap();
        let (dom, log) = chromium(folder.path(), &["--dump-dom"], &path);
        assert!(dom.contains("<h1>"), "{log}");
        let console: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("CONSOLE"))
            .collect();
        assert_eq!(console, Vec::<&str>::new());
    }
    // The check above can fail: a script that the policy stops is logged.
    let path = folder.path().join("bad.html");
    let bad = html::page(&sample::results()).replace("<main>", "<main><script>1</script>");
    std::fs::write(&path, bad).unwrap();
    let (_, log) = chromium(folder.path(), &["--dump-dom"], &path);
    assert!(log.contains("CONSOLE"), "{log}");
}
