//! Commands as a shell reads them.

use std::ffi::OsStr;
use std::process::Command;

/// Encloses the number of a host in the words of a command: which host that is, the shell knows
/// only when the job runs.
const MARK: char = '\u{1}';

/// A host that is `${hosts[number]}` in the text of a command.
pub(super) fn host(number: usize) -> String {
    format!("{MARK}{number}{MARK}")
}

/// A command as a line, with the variables that it sets and takes away; `env` so that `timeout` and
/// others can start it.
pub(super) fn line(command: &Command) -> String {
    let mut words = vec!["env".to_owned()];
    let variables: Vec<_> = command.get_envs().collect();
    for (name, _) in variables.iter().filter(|(_, value)| value.is_none()) {
        words.extend(["-u".to_owned(), word(name)]);
    }
    for (name, value) in &variables {
        if let Some(value) = value {
            let both = format!("{}={}", name.to_string_lossy(), value.to_string_lossy());
            words.push(word(OsStr::new(&both)));
        }
    }
    words.push(word(command.get_program()));
    words.extend(command.get_args().map(word));
    words.join(" ")
}

/// A word that no shell takes apart, nor makes anything of but hosts.
pub(super) fn word(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    if word.is_empty() {
        return "''".to_owned();
    }
    // Between marks is the number of a host, outside of them text.
    let parts = word.split(MARK).enumerate();
    parts
        .map(|(at, part)| match (at % 2, part) {
            (1, number) => format!("\"${{hosts[{number}]}}\""),
            (_, "") => String::new(),
            (_, text) => format!("'{}'", text.replace('\'', r"'\''")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_what_they_are() {
        for text in [
            "plain/-1",
            "",
            "a b",
            "it's",
            "$HOME `x` \"y\"",
            "a''b",
            "\\",
        ] {
            let script = format!("printf %s {}", word(OsStr::new(text)));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), text, "{script}");
        }
    }

    #[test]
    fn hosts_are_those_of_the_job() {
        let mut command = Command::new("printf");
        command.arg("%s");
        command.arg(format!("{}:2,{}:2", host(0), host(1)));
        let script = format!("hosts=(x1 'y 2'); {}", line(&command));
        let output = Command::new("bash").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "x1:2,y 2:2");
        assert!(
            script.ends_with(r#"printf %s "${hosts[0]}"':2,'"${hosts[1]}"':2'"#),
            "{script}"
        );
    }

    #[test]
    fn variables_are_set_and_taken_away() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $A-$HOME"]);
        command.env("A", "b c").env_remove("HOME");
        let script = line(&command);
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "b c-\n",
            "{script}"
        );
    }
}
