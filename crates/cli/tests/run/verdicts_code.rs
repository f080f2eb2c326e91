//! What must not be called equivalent though hardly anything in the code differs, and what must be.

use crate::room::*;

/// Both are found if the bytes `qb` are read.
const GENERATOR: &str = r#"#include <coroutine>
#include <cstdio>
struct Numbers {
    struct promise_type {
        int value = 0;
        Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int x) { value = x; return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> handle;
};
struct Ready {
    int number;
    bool await_ready() { return number != 'b'; }
    // The next to run takes the place of who waits.
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> own) { puts("waits"); return own; }
    void await_resume() {}
};
Numbers numbers(int d) { co_yield 1; co_await Ready{d}; co_yield 5; }
int main() {
    int c = getchar(), d = getchar();
    Numbers all = numbers(d);
    all.handle.resume();
    if (c != 'q') return 0;
    all.handle.resume();
    return all.handle.promise().value;
}
"#;

const VECTOR: &str = r#"#include <emmintrin.h>
#include <stdio.h>
alignas(16) static float all[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static float last(const float *p) { __m128 v = _mm_loadu_ps(p); return _mm_add_ps(v, v)[3]; }
int main() { return (int)last(getchar() == 'q' ? all + 1 : all); }
"#;

const NAMED: &str = r#"#define NAME named
#include <dlfcn.h>
#include <string.h>
#include <stdio.h>
extern "C" __attribute__((noinline)) int NAME(int c) { return c & 1; }
int main() {
    int c = getchar();
    Dl_info about;
    if (c == 'q' && dladdr((void *)&NAME, &about)) return about.dli_sname && !strcmp(about.dli_sname, "named");
    return NAME(c);
}
"#;

/// The verdict on a program and what is made of it by replacing something.
fn verdict(text: &str, (from, to): (&str, &str), more: &[&str]) -> String {
    let room = Room::new();
    assert!(text.contains(from), "{from}");
    room.write("old.cpp", text);
    room.write("new.cpp", text.replace(from, to));
    searched(&room, ["old.cpp", "new.cpp"], more)
}

fn searched(room: &Room, [old, new]: [&str; 2], more: &[&str]) -> String {
    let run = ["run", old, new, "--jobs", "1", "--time", "60s"];
    let said = room.changeling(&[&run[..], more].concat());
    assert!(said.code.is_some(), "{}{}", said.stdout, said.stderr);
    room.results()["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn coroutines_are_followed() {
    let more = ["--stdin", "2", "--flag=-std=c++20"];
    for change in [("co_yield 5", "co_yield 6"), ("\"waits\"", "\"holds\"")] {
        assert_eq!(
            verdict(GENERATOR, change, &more),
            "differences",
            "{change:?}"
        );
    }
}

#[test]
fn how_code_is_made_counts() {
    let loaded = verdict(
        VECTOR,
        ("_mm_loadu_ps(p)", "_mm_load_ps(p)"),
        &["--stdin", "1"],
    );
    assert_eq!(loaded, "differences");
    let more = ["--stdin", "1", "--flag=-rdynamic"];
    let renamed = verdict(NAMED, ("NAME named", "NAME called"), &more);
    assert_eq!(renamed, "differences");
}

/// Its message names another file, which is no other behaviour.
#[test]
fn an_assertion_may_move_to_another_file() {
    let room = Room::new();
    let check = "#include <cassert>\ninline void check(int c) { assert(c != 'q'); }\n";
    let main = "#include <cstdio>\n#include \"a.h\"\n#include \"b.h\"\nint main() { check(getchar()); return 0; }\n";
    for (version, [a, b]) in [("old", [check, ""]), ("new", ["", check])] {
        room.write(&format!("{version}/a.h"), a);
        room.write(&format!("{version}/b.h"), b);
        room.write(&format!("{version}/main.cpp"), main);
    }
    let versions = ["old/main.cpp", "new/main.cpp"];
    let search = |guide| searched(&room, versions, &["--stdin", "1", "--guide", guide]);
    assert_eq!(search("all"), "equivalent");
    // Its message is written past the tracer.
    assert_eq!(search("none"), "none-found");
}
