//! The releases of glibc that a program needs, read from its file.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A release of glibc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Release(u32, u32);

impl Release {
    /// The one that programs for old systems are built for, unless another is named: Rust's own
    /// standard library needs no newer one.
    pub(crate) const OLD: Self = Self(2, 17);
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |text: &str| text.parse::<u32>().ok();
        let mut parts = text.split('.').map(part);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            // 2.2.5 is the oldest of x86-64, and has a third part.
            (Some(Some(major)), Some(Some(minor)), None | Some(Some(_)), None) => {
                Ok(Self(major, minor))
            }
            _ => Err(format!("{text} is no release of glibc, such as 2.17")),
        }
    }
}

/// The newest release that a program needs, which is not above `oldest`.
///
/// # Errors
/// A sentence that names each symbol that needs a newer one.
pub(crate) fn check(elf: &[u8], oldest: Release) -> Result<Option<Release>, String> {
    let mut newest = None;
    let mut faults = Vec::new();
    for (version, symbols) in needs(elf)? {
        let Some(release) = version.strip_prefix("GLIBC_") else {
            continue;
        };
        match release.parse() {
            Ok(release) if release <= oldest => newest = newest.max(Some(release)),
            _ if symbols.is_empty() => faults.push(format!("the program needs {version}")),
            _ => faults.push(format!("{} needs {version}", symbols.join(", "))),
        }
    }
    if faults.is_empty() {
        return Ok(newest);
    }
    Err(format!(
        "glibc {oldest} has not all of it: {}",
        faults.join("; ")
    ))
}

const OF_DYNAMIC_SYMBOLS: u32 = 11;
const OF_VERSIONS_NEEDED: u32 = 0x6fff_fffe;
const OF_VERSIONS_OF_SYMBOLS: u32 = 0x6fff_ffff;

/// The versions that a program needs of its libraries, such as `GLIBC_2.17`, each with the symbols
/// that need it; none of a program without libraries.
fn needs(elf: &[u8]) -> Result<BTreeMap<String, Vec<String>>, String> {
    // 64 bits, the lower byte first.
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return Err("it is no ELF file of 64 bits".to_owned());
    }
    read(elf).ok_or_else(|| "it is no whole ELF file".to_owned())
}

fn read(elf: &[u8]) -> Option<BTreeMap<String, Vec<String>>> {
    let mut needs = BTreeMap::new();
    let Some(libraries) = Section::of(elf, OF_VERSIONS_NEEDED)? else {
        return Some(needs);
    };
    let needed = libraries.content;
    // A list of libraries, each with a list of versions, each of which has a number.
    let mut numbered = BTreeMap::new();
    let mut library = needed;
    for _ in 0..libraries.entries {
        let mut version = library.get(number(library, 8)?..)?;
        for _ in 0..word(library, 2)? {
            let name = text(libraries.strings, number(version, 8)?)?;
            numbered.insert(word(version, 6)?, name.clone());
            needs.insert(name, Vec::new());
            version = version.get(number(version, 12)?..)?;
        }
        library = library.get(number(library, 12)?..)?;
    }
    if let Some(symbols) = Section::of(elf, OF_DYNAMIC_SYMBOLS)?
        && let Some(versions) = Section::of(elf, OF_VERSIONS_OF_SYMBOLS)?
    {
        const SYMBOL: usize = 24;
        for index in 0..symbols.content.len() / SYMBOL {
            if let Some(version) = numbered.get(&word(versions.content, index * 2)?) {
                let name = text(symbols.strings, number(symbols.content, index * SYMBOL)?)?;
                needs.get_mut(version)?.push(name);
            }
        }
    }
    Some(needs)
}

/// A section, with the one of its strings and the number of its entries.
struct Section<'a> {
    content: &'a [u8],
    strings: &'a [u8],
    entries: u32,
}

impl<'a> Section<'a> {
    /// The first of a kind; `None` within if there is none.
    fn of(elf: &'a [u8], kind: u32) -> Option<Option<Self>> {
        const HEADER: usize = 64;
        let header = |index: usize| {
            let at = index.checked_mul(HEADER)?.checked_add(long(elf, 40)?)?;
            elf.get(at..at.checked_add(HEADER)?)
        };
        let content = |header: &[u8]| {
            let at = long(header, 24)?;
            elf.get(at..at.checked_add(long(header, 32)?)?)
        };
        for index in 0..usize::from(word(elf, 60)?) {
            let found = header(index)?;
            if half(found, 4)? == kind {
                return Some(Some(Self {
                    content: content(found)?,
                    strings: content(header(number(found, 40)?)?)?,
                    entries: half(found, 44)?,
                }));
            }
        }
        Some(None)
    }
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> Option<[u8; N]> {
    from.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn word(from: &[u8], at: usize) -> Option<u16> {
    bytes(from, at).map(u16::from_le_bytes)
}

fn half(from: &[u8], at: usize) -> Option<u32> {
    bytes(from, at).map(u32::from_le_bytes)
}

fn number(from: &[u8], at: usize) -> Option<usize> {
    half(from, at)?.try_into().ok()
}

fn long(from: &[u8], at: usize) -> Option<usize> {
    bytes(from, at).map(u64::from_le_bytes)?.try_into().ok()
}

fn text(strings: &[u8], at: usize) -> Option<String> {
    let rest = strings.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    String::from_utf8(rest.get(..end)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these symbols, each with the version that it needs, and what else it needs.
    #[allow(clippy::cast_possible_truncation, reason = "all of it is short")]
    fn file(symbols: &[(&str, &str)], others: &[&str]) -> Vec<u8> {
        let mut strings = vec![0];
        let mut string = |text: &str| {
            let at = strings.len() as u32;
            strings.extend_from_slice(text.as_bytes());
            strings.push(0);
            at
        };
        let versions = symbols.iter().map(|(_, version)| version).chain(others);
        let versions: Vec<&str> = versions.copied().collect();
        // One library; the first number that a version may have is 2.
        let mut needed = Vec::new();
        for part in [1, versions.len() as u16] {
            needed.extend(part.to_le_bytes());
        }
        for part in [string("libc.so.6"), 16, 0] {
            needed.extend(part.to_le_bytes());
        }
        for (index, version) in versions.iter().enumerate() {
            needed.extend(0_u32.to_le_bytes());
            needed.extend(0_u16.to_le_bytes());
            needed.extend((index as u16 + 2).to_le_bytes());
            needed.extend(string(version).to_le_bytes());
            needed.extend(16_u32.to_le_bytes());
        }
        let (mut table, mut of_symbols) = (vec![0; 24], vec![0; 2]);
        for (index, (name, _)) in symbols.iter().enumerate() {
            table.extend(string(name).to_le_bytes());
            table.extend([0; 20]);
            of_symbols.extend((index as u16 + 2).to_le_bytes());
        }
        let contents = [
            (0, Vec::new()),
            (3, strings),
            (OF_DYNAMIC_SYMBOLS, table),
            (OF_VERSIONS_OF_SYMBOLS, of_symbols),
            (OF_VERSIONS_NEEDED, needed),
        ];
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[40..48].copy_from_slice(&64_u64.to_le_bytes());
        elf[60..62].copy_from_slice(&(contents.len() as u16).to_le_bytes());
        let mut at = (64 + 64 * contents.len()) as u64;
        for (kind, content) in &contents {
            let mut header = [0; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&at.to_le_bytes());
            header[32..40].copy_from_slice(&(content.len() as u64).to_le_bytes());
            header[40..44].copy_from_slice(&1_u32.to_le_bytes());
            // One library, where it counts.
            header[44..48].copy_from_slice(&1_u32.to_le_bytes());
            elf.extend(header);
            at += content.len() as u64;
        }
        contents.iter().for_each(|(_, content)| elf.extend(content));
        elf
    }

    const PROGRAM: [(&str, &str); 3] = [
        ("memcpy", "GLIBC_2.14"),
        ("read", "GLIBC_2.2.5"),
        ("_Unwind_Resume", "GCC_3.0"),
    ];

    #[test]
    fn the_newest_release_is_found() {
        let program = file(&PROGRAM, &[]);
        assert_eq!(check(&program, Release::OLD), Ok(Some(Release(2, 14))));
        assert_eq!(check(&program, Release(2, 14)), Ok(Some(Release(2, 14))));
        assert_eq!(check(&file(&[], &[]), Release::OLD), Ok(None));
    }

    #[test]
    fn a_symbol_that_is_too_new_is_named() {
        let program = file(&PROGRAM, &[]);
        let why = check(&program, Release(2, 13)).unwrap_err();
        assert!(why.contains("memcpy needs GLIBC_2.14"), "{why}");
        assert!(!why.contains("read") && !why.contains("GCC"), "{why}");
        // What has no number, and no symbol: a form of relocations that glibc 2.36 brought.
        let program = file(&PROGRAM, &["GLIBC_ABI_DT_RELR"]);
        let why = check(&program, Release(2, 40)).unwrap_err();
        assert!(why.contains("GLIBC_ABI_DT_RELR"), "{why}");
    }

    #[test]
    fn a_real_program_is_read() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let why = check(&program, Release(2, 2)).unwrap_err();
        assert!(why.contains("__libc_start_main"), "{why}");
        let newest = check(&program, Release(2, 99)).unwrap();
        assert!(newest >= Some(Release(2, 14)), "{newest:?}");
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        let program = file(&PROGRAM, &[]);
        for length in 0..program.len() {
            assert!(check(&program[..length], Release::OLD).is_err(), "{length}");
        }
        assert!(check(b"#!/bin/sh\n", Release::OLD).is_err());
    }

    #[test]
    fn releases_are_numbers() {
        assert_eq!("2.28".parse(), Ok(Release(2, 28)));
        assert_eq!("2.2.5".parse(), Ok(Release(2, 2)));
        for text in ["", "2", "2.", "2.17.x", "2.1.2.3", "PRIVATE", "ABI_DT_RELR"] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
        assert!(Release(2, 9) < Release::OLD && Release::OLD < Release(3, 0));
    }
}
