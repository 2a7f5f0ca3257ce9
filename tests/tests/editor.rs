//! What an editor shows inside of `model!`: rust-analyzer is asked about README's first program. Where there is none the test
//! passes, unless `PRECAST_EDITOR=1` says that there must be one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long the server may be silent: it builds the macro first.
const PATIENCE: Duration = Duration::from_secs(600);

/// README's first program as a package of its own, outside of the workspace.
fn package() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("editor");
    fs::create_dir_all(folder.join("src")).unwrap();
    let runtime = root.join("runtime").canonicalize().unwrap();
    let manifest = format!(
        "[package]\nname = \"editor\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         precast = {{ path = {runtime:?} }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let (_, program) = readme.split_once("```rust\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    fs::write(folder.join("src/main.rs"), program).unwrap();
    folder.canonicalize().unwrap()
}

/// A language server, which speaks JSON in frames.
struct Server {
    child: Child,
    input: ChildStdin,
    messages: Receiver<String>,
    asked: usize,
}

impl Server {
    fn start(folder: &Path) -> Server {
        let mut command = Command::new("rust-analyzer");
        command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Cargo's variables are those of this test.
        command.env_remove("CARGO_TARGET_DIR").env("CARGO_INCREMENTAL", "0");
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = frame(&mut output) {
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Server { child, input, messages, asked: 0 }
    }

    fn send(&mut self, body: &str) {
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: &str) {
        self.send(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}"));
    }

    /// The next message that has the text; what the server asks meanwhile is answered with nothing.
    fn wait(&mut self, text: &str) -> String {
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            let id = message.split_once("\"id\":").and_then(|(_, rest)| rest.split([',', '}']).next());
            if let Some(id) = id.filter(|_| message.contains("\"method\":")) {
                self.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":null}}"));
            }
            if message.contains(text) {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &str) -> String {
        self.asked += 1;
        let id = self.asked;
        self.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}"));
        self.wait(&format!("\"id\":{id},\"result\""))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The body of the next frame.
fn frame(output: &mut impl BufRead) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            header => length = header.strip_prefix("Content-Length: ").map_or(Some(length), |n| n.parse().ok())?,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

#[test]
fn names_of_the_language_show_their_documentation() {
    let must = std::env::var_os("PRECAST_EDITOR").is_some_and(|value| value == "1");
    let is_there = Command::new("rust-analyzer").arg("--version").output().is_ok_and(|out| out.status.success());
    if !is_there {
        assert!(!must, "PRECAST_EDITOR=1, but there is no rust-analyzer");
        return;
    }
    let folder = package();
    let (root, file) = (format!("file://{}", folder.display()), format!("file://{}/src/main.rs", folder.display()));
    let text = fs::read_to_string(folder.join("src/main.rs")).unwrap();
    let mut server = Server::start(&folder);
    let capabilities = "{\"textDocument\":{\"hover\":{\"contentFormat\":[\"markdown\"]}},\
                        \"experimental\":{\"serverStatusNotification\":true}}";
    let options = "{\"checkOnSave\":false}";
    server.ask(
        "initialize",
        &format!("{{\"processId\":null,\"rootUri\":\"{root}\",\"capabilities\":{capabilities},\"initializationOptions\":{options}}}"),
    );
    server.tell("initialized", "{}");
    server.wait("\"quiescent\":true");
    let document = format!("{{\"uri\":\"{file}\",\"languageId\":\"rust\",\"version\":1,\"text\":{text:?}}}");
    server.tell("textDocument/didOpen", &format!("{{\"textDocument\":{document}}}"));
    // Where in the program, what hovering over it shows, and where its definition is.
    let line_of = |part: &str| text.lines().position(|line| line.contains(part)).unwrap();
    let here = |part: &str| format!("\"start\":{{\"line\":{},", line_of(part));
    for (part, offset, shown, defined) in [
        ("Conv2d(1, 16", 0, "A learnt convolution over height and width", "reference.rs".to_owned()),
        ("relu(self.conv1", 0, "torch.nn.functional.relu", "reference.rs".to_owned()),
        ("conv1: Conv2d", 0, "conv1.weight: f32[16, 1, 3, 3]", here("conv1:")),
        ("self.conv1(image)", 5, "conv1: Conv2d(1, 16, kernel = 3, padding = 1)", here("conv1:")),
        ("image: f32[B, 1, 8, 8]) -> f32[B, 10]", 0, "[[[[f32; 8]; 8]; 1]]", here("image: f32[B, 1, 8, 8]) ->")),
    ] {
        let line = line_of(part);
        let character = text.lines().nth(line).unwrap().find(part).unwrap() + offset;
        let at = format!(
            "{{\"textDocument\":{{\"uri\":\"{file}\"}},\"position\":{{\"line\":{line},\"character\":{character}}}}}"
        );
        let hover = server.ask("textDocument/hover", &at);
        assert!(hover.contains(shown), "hovering over `{part}` shows {hover}");
        let definition = server.ask("textDocument/definition", &at);
        assert!(definition.contains(&defined), "the definition of `{part}` is {definition}");
    }
}
