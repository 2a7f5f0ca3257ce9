//! What is saved is whole, whoever is killed, and only what was named is changed.

use super::*;
use crate::{safetensors::Reader, scene::Scene, whole::Beside};
use alloc::vec;
use std::{
    fs,
    process::{Command, Stdio},
};

/// As many numbers as fill some pages, all the same.
fn save_all(path: &Path, value: f32) -> Result<()> {
    let values = [value; 10_000];
    save(
        path,
        &[],
        &[Tensor {
            name: "w".into(),
            dtype: "F32",
            shape: [10_000][..].into(),
            bytes: bytemuck::cast_slice(&values[..]).into(),
        }],
    )
}

/// The number that the file holds everywhere.
fn read(path: &Path) -> f32 {
    let mut reader = Reader::open(path).unwrap();
    let entry = reader.tensors["w"].clone();
    let mut values = vec![0f32; 10_000];
    reader.read(&entry, &mut values).unwrap();
    assert!(values.iter().all(|value| *value == values[0]));
    values[0]
}

#[test]
fn a_failed_save_leaves_nothing_beside() {
    let scene = Scene::new("failed");
    fs::create_dir(scene.path("taken")).unwrap();
    assert!(matches!(save_all(&scene.path("taken"), 1.0), Err(Error::Io { .. })));
    assert_eq!(scene.names(), ["taken"]);
}

#[test]
fn an_index_is_not_written() {
    let scene = Scene::new("index");
    let error = save_all(&scene.path("net.safetensors.index.json"), 1.0).unwrap_err();
    assert!(matches!(error, Error::SaveToIndex { .. }));
    let (index, file) = (scene.path("net.safetensors.index.json"), scene.path("net.safetensors"));
    let message = "is the index of several files, and one is written: save to";
    assert_eq!(error.to_string(), format!("{} {message} {}", index.display(), file.display()));
    assert!(scene.names().is_empty());
    save_all(&file, 1.0).unwrap();
}

/// A child writes until it is killed, a thousand times.
#[test]
fn a_killed_save_loses_nothing_and_leaves_nothing_behind_the_next() {
    const TARGET: &str = "PRECAST_TEST_SAVE_UNTIL_KILLED";
    if let Some(path) = std::env::var_os(TARGET) {
        for value in 1.. {
            save_all(path.as_ref(), value as f32).unwrap();
        }
    }
    let scene = Scene::new("killed");
    let path = scene.path("w.safetensors");
    save_all(&path, 0.0).unwrap();
    let mut begun = 0;
    for kill in 0..1_000 {
        let name = "safetensors::write::tests::a_killed_save_loses_nothing_and_leaves_nothing_behind_the_next";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command = command.args(["--exact", name]).env(TARGET, &path).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(core::time::Duration::from_micros(2_000 + kill * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        begun += usize::from(scene.names().len() > 1);
        assert!(read(&path) >= 0.0);
    }
    // Otherwise nothing was seen.
    assert!(begun > 10, "{begun} were killed while they wrote");
    save_all(&path, 2.0).unwrap();
    assert_eq!((scene.names().as_slice(), read(&path)), (&["w.safetensors".into()][..], 2.0));
}

#[test]
fn what_others_are_writing_is_no_litter() {
    let scene = Scene::new("others");
    let path = scene.path("w");
    let beside = Beside::of(&path);
    let (file, temporary) = beside.create(None).unwrap();
    save_all(&path, 1.0).unwrap();
    assert!(temporary.exists());
    // A process that a test beside this one starts has the file open, too, until it has begun: closing it here is not enough.
    file.unlock().unwrap();
    drop(file);
    // Names that only resemble those of this call stay.
    let stranger = scene.path(".w.0123.tmp");
    fs::write(&stranger, "mine").unwrap();
    save_all(&path, 2.0).unwrap();
    assert!(!temporary.exists() && stranger.exists());
}

#[test]
fn calls_at_a_time_do_not_meet() {
    let scene = Scene::new("meet");
    let path = scene.path("w");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = &path;
            scope.spawn(move || (0..20).for_each(|_| save_all(path, number as f32).unwrap()));
        }
    });
    assert!(read(&path) < 8.0);
    assert_eq!(scene.names(), ["w"]);
}

#[test]
fn a_name_may_be_as_long_as_the_system_allows() {
    let scene = Scene::new("long");
    let path = scene.path(&"é".repeat(127));
    save_all(&path, 1.0).unwrap();
    save_all(&path, 2.0).unwrap();
    assert_eq!((scene.names().len(), read(&path)), (1, 2.0));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_are_followed() {
        let scene = Scene::new("links");
        for target in ["there", "not yet"] {
            let (link, second) = (scene.path("link"), scene.path("second"));
            if target == "there" {
                save_all(&scene.path(target), 1.0).unwrap();
            }
            symlink(target, &link).unwrap();
            symlink(&link, &second).unwrap();
            save_all(&second, 2.0).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert!(fs::symlink_metadata(&second).unwrap().is_symlink());
            assert_eq!(read(&scene.path(target)), 2.0);
            fs::remove_file(link).unwrap();
            fs::remove_file(second).unwrap();
        }
        symlink("circle", scene.path("circle")).unwrap();
        assert!(matches!(save_all(&scene.path("circle"), 1.0), Err(Error::Io { .. })));
    }

    #[test]
    fn permissions_are_kept() {
        let scene = Scene::new("permissions");
        let path = scene.path("w");
        for mode in [0o600, 0o640, 0o666] {
            save_all(&path, 1.0).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            save_all(&path, 2.0).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn what_is_no_file_is_written_to_and_not_replaced() {
        let scene = Scene::new("device");
        let (pipe, null) = (scene.path("pipe"), scene.path("null"));
        save_all(Path::new("/dev/null"), 1.0).unwrap();
        symlink("/dev/null", &null).unwrap();
        save_all(&null, 1.0).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        save_all(&pipe, 3.0).unwrap();
        assert!(reader.join().unwrap().ends_with(&3f32.to_le_bytes()));
        assert_eq!(scene.names(), ["null", "pipe"]);
    }
}
