//! The same for Rust's standard library.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn main() {
    let map: HashMap<String, usize> = (0..20).map(|n| (format!("key{n}"), n)).collect();
    println!("map {:?}", map.keys().collect::<Vec<_>>());
    let set: HashSet<u64> = (0..20).collect();
    println!("set {set:?}");
    println!("now {:?}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap());
    let start = Instant::now();
    std::thread::sleep(Duration::from_secs(1000));
    println!("slept {:?}", start.elapsed());
    let (mutex, condition) = (Mutex::new(()), Condvar::new());
    let (_guard, result) = condition.wait_timeout(mutex.lock().unwrap(), Duration::from_millis(20)).unwrap();
    println!("timed out {}", result.timed_out());
    let (_sender, receiver) = mpsc::channel::<()>();
    println!("channel {:?}", receiver.recv_timeout(Duration::from_millis(20)));
    println!("process {}", std::process::id());
    println!("processors {:?}", std::thread::available_parallelism());
    println!("joined {}", std::thread::spawn(|| HashSet::from([1, 2, 3]).len()).join().unwrap());
    println!("at {:p} {:p}", &start, Box::new(1).as_ref());
    println!("file {:?}", std::fs::read("/dev/urandom").map(|bytes| bytes.len() > 1000));
}
