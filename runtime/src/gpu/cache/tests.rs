//! What a file of pipelines gives back, and what becomes of one that is no such file.

use super::*;
use crate::gpu::{Foreign, Needs};
use crate::scene::Scene;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static PROGRAM: Program = Program {
    wgsl: "one",
    foreign: Foreign { wgsl: "", first: 0 },
    entries: &[],
    loops: 0,
    dims: 0,
    call: 4,
    needs: Needs { workgroup_bytes: 0, workgroup_threads: 1 },
};
static OTHER: Program = Program { wgsl: "other", ..PROGRAM };

/// What a driver gives, not a multiple of words.
const BYTES: [u8; 1003] = [7; 1003];

fn adapter() -> wgpu::AdapterInfo {
    wgpu::AdapterInfo::new(wgpu::DeviceType::DiscreteGpu, wgpu::Backend::Vulkan)
}

fn file(directory: &Path) -> CacheFile {
    CacheFile::new(directory, &adapter(), &PROGRAM).unwrap()
}

/// What the next process finds.
fn found(directory: &Path) -> Option<Vec<u8>> {
    file(directory).read().map(|kept| kept.0)
}

#[test]
fn what_is_written_is_read_by_the_next_process() {
    let scene = Scene::new("cache");
    let directory = scene.path("deep/within");
    assert_eq!(found(&directory), None);
    let first = file(&directory);
    for bytes in [&BYTES[..], &[], &BYTES[..8]] {
        first.write(bytes);
        assert_eq!(found(&directory).as_deref(), Some(bytes));
    }
    let names: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names, [first.path]);
}

#[test]
fn what_a_killed_process_had_begun_is_gone() {
    let scene = Scene::new("cache-killed");
    let directory = scene.path("");
    let [ours, others] = ["1-2.pipelines", "model.safetensors"].map(|target| format!(".{target}.0123456789abcdef.tmp"));
    [&ours, &others].into_iter().for_each(|name| fs::write(directory.join(name), BYTES).unwrap());
    file(&directory).write(&BYTES);
    assert!(!directory.join(ours).exists() && directory.join(others).exists());
}

#[test]
fn what_is_held_is_not_written_again() {
    let scene = Scene::new("cache-again");
    file(&scene.path("")).write(&BYTES);
    let next = file(&scene.path(""));
    assert!(next.read().is_some());
    fs::remove_file(&next.path).unwrap();
    next.write(&BYTES);
    assert!(!next.path.exists());
    next.write(&BYTES[1..]);
    assert!(next.path.exists());
}

#[test]
fn damaged_files_are_none_and_are_replaced() {
    let scene = Scene::new("cache-damaged");
    let directory = scene.path("");
    let this = file(&directory);
    this.write(&BYTES);
    let whole = fs::read(&this.path).unwrap();
    let damaged = |damage: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        fs::write(&this.path, bytes).unwrap();
        assert_eq!(found(&directory), None);
        file(&directory).write(&BYTES);
        assert_eq!(found(&directory).as_deref(), Some(&BYTES[..]));
    };
    // Every byte matters, and so does the end.
    for at in 0..whole.len() {
        damaged(&|bytes| bytes[at] ^= 1 << (at % 8));
    }
    for len in (0..whole.len()).step_by(13) {
        damaged(&|bytes| bytes.truncate(len));
    }
    damaged(&|bytes| bytes.push(0));
    damaged(&|bytes| bytes.fill(0));
    damaged(&|bytes| bytes.fill(0xff));
    damaged(&|bytes| *bytes = b"a text of somebody else's".to_vec());
    // Two words that change places.
    let mut uneven = BYTES;
    uneven[0] = 1;
    this.write(&uneven);
    let mut bytes = fs::read(&this.path).unwrap();
    let first = bytes.len() - BYTES.len();
    bytes[first..first + 16].rotate_left(8);
    fs::write(&this.path, bytes).unwrap();
    assert_eq!(found(&directory), None);
}

#[test]
fn files_of_others_are_none() {
    let scene = Scene::new("cache-others");
    let directory = scene.path("");
    let this = file(&directory);
    this.write(&BYTES);
    let others = [
        CacheFile::new(&directory, &adapter(), &OTHER),
        CacheFile::new(&directory, &wgpu::AdapterInfo { device: 1, ..adapter() }, &PROGRAM),
        CacheFile::new(&directory, &wgpu::AdapterInfo { driver_info: "2".into(), ..adapter() }, &PROGRAM),
    ];
    for other in others.map(Option::unwrap) {
        assert_ne!(other.path, this.path);
        // Not even under its own name.
        fs::copy(&this.path, &other.path).unwrap();
        assert_eq!(other.read(), None);
    }
    let metal = wgpu::AdapterInfo::new(wgpu::DeviceType::IntegratedGpu, wgpu::Backend::Metal);
    assert!(CacheFile::new(&directory, &metal, &PROGRAM).is_none());
}

#[test]
fn what_cannot_be_written_or_read_changes_nothing() {
    let scene = Scene::new("cache-unwritable");
    // Where a file is in the way of the directory, nobody can write, root neither.
    fs::write(scene.path("taken"), "mine").unwrap();
    let within = file(&scene.path("taken"));
    within.write(&BYTES);
    assert_eq!(within.read(), None);
    // And where a directory is in the way of the file.
    let directory = scene.path("");
    fs::create_dir(&file(&directory).path).unwrap();
    file(&directory).write(&BYTES);
    assert_eq!(found(&directory), None);
    assert_eq!(fs::read(scene.path("taken")).unwrap(), b"mine");
    assert_eq!(scene.names().len(), 2);
}

#[test]
fn writers_at_a_time_leave_a_whole_file() {
    let scene = Scene::new("cache-meet");
    let (directory, done) = (scene.path(""), AtomicBool::new(false));
    file(&directory).write(&BYTES);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4u8)
            .map(|number| {
                let directory = &directory;
                scope.spawn(move || (0..50).for_each(|turn| file(directory).write(&[number; 20_000][turn..])))
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(found(&directory).is_some());
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    let bytes = found(&directory).unwrap();
    assert!(bytes.len() > 19_000 && bytes.iter().all(|byte| *byte == bytes[0]));
    assert_eq!(scene.names().len(), 1);
}

#[test]
fn what_was_used_longest_ago_is_removed() {
    let scene = Scene::new("cache-trim");
    let path = |n: u64| scene.path(&format!("{n}.{EXTENSION}"));
    for n in 0..5 {
        fs::write(path(n), [0; 100]).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - n);
        File::options().write(true).open(path(n)).unwrap().set_modified(time).unwrap();
    }
    fs::write(scene.path("mine"), [0; 1000]).unwrap();
    trim(&scene.path(""), 500);
    assert_eq!(scene.names().len(), 6);
    trim(&scene.path(""), 299);
    assert_eq!(scene.names(), ["0.pipelines", "1.pipelines", "mine"]);
}
