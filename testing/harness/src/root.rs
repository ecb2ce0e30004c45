//! A root of few files, as an image of a container or an old system has them: programs see it alone
//! and what is bound into it, in a namespace of mounts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Binds pairs of paths into a root, each made there first, and runs the program after `--` in it.
const ENTER: &str = r#"
root=$1
shift
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$root${2%/*}" && : >>"$root$2"; fi
    mount --rbind "$1" "$root$2"
    shift 2
done
shift
PATH=$PATH:/usr/sbin:/sbin
exec chroot "$root" "$@"
"#;

/// The folders of the machine that each program may expect.
const OF_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// A root, and what is bound into it.
#[derive(Debug, Clone)]
pub struct Root {
    folder: PathBuf,
    binds: Vec<[PathBuf; 2]>,
}

impl Root {
    /// A root whose files are in a folder, with those of the kernel.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let root = Self {
            folder: folder.into(),
            binds: Vec::new(),
        };
        OF_KERNEL
            .into_iter()
            .fold(root, |root, at| root.bind(at, at))
    }

    /// Adds a program, and the libraries that `ldd` names for it, to the files.
    ///
    /// # Errors
    /// A sentence if they cannot be found or copied.
    pub fn with(self, program: &Path) -> Result<Self, String> {
        let ldd = Command::new("ldd").arg(program).output();
        let said = ldd.map_err(|error| format!("ldd: {error}"))?.stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        let libraries = said.split_whitespace().filter(|word| word.starts_with('/'));
        let program = program.to_str().ok_or("a program of no name")?;
        for file in libraries.chain([program]) {
            let to = self.folder.join(file.trim_start_matches('/'));
            let failed = |error| format!("{file}: {error}");
            fs::create_dir_all(to.parent().unwrap_or(&to)).map_err(failed)?;
            fs::copy(file, to).map_err(failed)?;
        }
        Ok(self)
    }

    /// Binds a file or a folder of the machine into it.
    #[must_use]
    pub fn bind(mut self, from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        self.binds.push([from.into(), to.into()]);
        self
    }

    /// The command whose further arguments are a program of the root and its arguments. `None`
    /// where there may be no such root.
    #[must_use]
    pub fn command(&self) -> Option<Command> {
        let command = |of: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(of).args(["sh", "-euc", ENTER, "sh"]);
            command
        };
        // Root may do it at once, others where they may be root of a name space of their own.
        let rights = [&["-m"][..], &["-r", "-m"]];
        let of = rights.into_iter().find(|of| {
            let tried = Command::new("unshare")
                .args(*of)
                .args(["mount", "--bind", "/", "/"])
                .output();
            tried.is_ok_and(|tried| tried.status.success())
        })?;
        let mut command = command(of);
        command.arg(&self.folder);
        command.args(self.binds.iter().flatten()).arg("--");
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_its_root_alone() {
        let here = std::env::temp_dir().join(format!("ranks-root-{}", std::process::id()));
        let (folder, other) = (here.join("root"), here.join("other"));
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("a"), "one\n").unwrap();
        let root = Root::new(&folder).with(Path::new("/bin/cat")).unwrap();
        let root = root.bind(&other, "/bound").bind(other.join("a"), "/etc/b");
        let Some(mut cat) = root.command() else {
            println!("NOT TESTED: a root, as nothing may be mounted here");
            return;
        };
        let said = cat
            .args(["/bin/cat", "/bound/a", "/etc/b", "/etc/passwd"])
            .output();
        let said = said.unwrap();
        assert_eq!(
            String::from_utf8_lossy(&said.stdout),
            "one\none\n",
            "{said:?}"
        );
        let errors = String::from_utf8_lossy(&said.stderr);
        assert!(errors.contains("/etc/passwd"), "{errors}");
        // Nothing of it is mounted elsewhere, or anything could not be removed.
        fs::remove_dir_all(&here).unwrap();
    }
}
