//! A browser that tests can drive: Chromium without a window, over its two pipes, a JSON message after the other.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where it is: `TRACTABLE_CHROMIUM`, or one of the usual names on the path.
fn program() -> PathBuf {
    if let Some(given) = std::env::var_os("TRACTABLE_CHROMIUM") {
        return given.into();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.iter().flat_map(|n| folders.iter().map(move |f| f.join(n))).find(|p| p.is_file());
    found.expect("there is no chromium on the path; set TRACTABLE_CHROMIUM, or leave out --include-ignored")
}

const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --disable-extensions --disable-dev-shm-usage --remote-debugging-pipe";

/// One tab.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    last: u64,
    /// What it has said unasked.
    pub(crate) events: Vec<Value>,
    _folder: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [to, from] = ["to", "from"].map(|name| {
            let path = folder.path().join(name);
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            path
        });
        // It listens on file 3 and speaks on file 4, which only a shell can give it without unsafe code.
        let script = format!("exec \"$0\" {FLAGS} --user-data-dir=\"$1\" about:blank 3<\"$2\" 4>\"$3\"");
        let child = Command::new("sh")
            .arg("-c")
            .arg(script)
            .arg(program())
            .arg(folder.path().join("profile"))
            .args([&to, &from])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let (session, events) = (String::new(), Vec::new());
        let mut browser = Browser { child, to, from, session, last: 0, events, _folder: folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].as_str().unwrap().into();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// The answer to a command; events that come before it are kept.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let message = self.next();
            match message["id"].as_u64() {
                Some(id) if id == self.last => {
                    assert!(message["error"].is_null(), "{method}: {message}");
                    return message["result"].clone();
                }
                _ => self.events.push(message),
            }
        }
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// The value of an expression.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let began = Instant::now();
        while self.value(expression) != true {
            assert!(began.elapsed() < Duration::from_secs(300), "never true: {expression}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn open(&mut self, url: &str) {
        let result = self.call("Page.navigate", json!({ "url": url }));
        assert!(result["errorText"].is_null(), "{url}: {result}");
        self.until(&format!("location.href == {} && document.readyState == 'complete'", json!(url)));
    }

    /// A screen so many pixels wide, and whether it is a phone's; light or dark.
    pub(crate) fn screen(&mut self, width: u32, phone: bool, scheme: &str) {
        let size = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": phone });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", scheme);
    }

    /// The whole page as a picture, where `TRACTABLE_SCREENS` names a folder for it.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("TRACTABLE_SCREENS") else { return };
        let shot = self.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        std::fs::write(Path::new(&folder).join(name), unbase64(shot["data"].as_str().unwrap())).unwrap();
    }

    /// Mistakes that the pages opened so far made, and addresses they asked for that do not begin with one of these.
    pub(crate) fn complaints(&self, allowed: &[&str]) -> Vec<String> {
        let wrong = |e: &&Value| {
            let (method, params) = (e["method"].as_str().unwrap_or(""), &e["params"]);
            match method {
                "Runtime.exceptionThrown" | "Network.loadingFailed" => true,
                "Runtime.consoleAPICalled" => ["error", "warning"].iter().any(|t| params["type"] == *t),
                "Log.entryAdded" => ["error", "warning"].iter().any(|t| params["entry"]["level"] == *t),
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str().unwrap_or("");
                    !allowed.iter().any(|a| url.starts_with(a)) && !url.starts_with("data:")
                }
                _ => false,
            }
        };
        self.events.iter().filter(wrong).map(Value::to_string).collect()
    }
}

/// The bytes of RFC 4648's letters.
fn unbase64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u32> = text.bytes().filter(|c| *c != b'=').map(|c| u32::from(digit(c))).collect();
    let group = |g: &[u32]| {
        let bits = (0..4).fold(0, |all, i| all << 6 | g.get(i).copied().unwrap_or(0));
        bits.to_be_bytes()[1..g.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if began.elapsed() > Duration::from_secs(5) {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
